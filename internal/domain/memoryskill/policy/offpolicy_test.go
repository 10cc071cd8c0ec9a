package policy

import (
	"math"
	"testing"

	"cairn/internal/domain/fault"
)

// logged returns the choices of a policy in a world, with the share of right skills as their score.
func logged(t *testing.T, w *world, by Policy) (out []Logged) {
	t.Helper()
	for i, s := range stale(t, w, by) {
		out = append(out, Logged{Decision: s.Decision, Score: float64(i % 2)})
	}
	return out
}

// The choices of the estimated policy itself count fully. Those of another count less.
func TestAnEstimateReportsItsEffectiveSampleSize(t *testing.T) {
	t.Parallel()
	w := newWorld("estimate")
	own := w.begin(TowerShape(worldDim, 32), DefaultPPO(), DefaultCredit()).policy
	all := logged(t, w, own)
	got, err := EstimateFrom(own, all, w.vectors)
	mean := 0.0
	for _, d := range all {
		mean += d.Score / float64(len(all))
	}
	if err != nil || math.Abs(got.Effective-float64(len(all))) > 1e-6 || math.Abs(got.Mean-mean) > 1e-9 {
		t.Errorf("%+v of %d choices with mean %v, %v", got, len(all), mean, err)
	}
	now := &training{policy: own, ppo: DefaultPPO(), credit: DefaultCredit(), workers: 1,
		choice: Choice{K: worldChosen}}
	w.train(now, 1, 20)
	other, err := EstimateFrom(now.policy, all, w.vectors)
	if err != nil || other.Effective > 0.7*float64(len(all)) || other.Effective < 1-1e-9 || other.Mean < 0 ||
		other.Mean > 1 {
		t.Errorf("another policy: %+v of %d, %v", other, len(all), err)
	}
	if none, err := EstimateFrom(own, nil, w.vectors); err != nil || none != (Estimate{}) {
		t.Errorf("no choices: %+v, %v", none, err)
	}
	all[0].Greedy = true
	if _, err := EstimateFrom(own, all, w.vectors); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a greedy choice: %v", err)
	}
}

// coin draws a with a known probability, else b.
type coin struct {
	Chooser
	a float64
}

func (c coin) LogPropensity(d Decision, _ []Candidate) (float64, error) {
	if d.Chosen[0] == "a" {
		return math.Log(c.a), nil
	}
	return math.Log(1 - c.a), nil
}

// Two choices of a fair coin, seen by a coin that prefers a.
func TestAnEstimateWeighsByTheRatioOfProbabilities(t *testing.T) {
	t.Parallel()
	log := func(id string, score float64) Logged {
		return Logged{Score: score, Decision: Decision{ID: id, Candidates: []string{"a", "b"}, Chosen: []string{id},
			LogProb: math.Log(.5)}}
	}
	all := []Logged{log("a", 1), log("b", 0)}
	got, err := EstimateFrom(coin{a: .75}, all, nil)
	// The weights are 1.5 and 0.5.
	if err != nil || math.Abs(got.Mean-.75) > 1e-12 || math.Abs(got.Effective-4/2.5) > 1e-12 {
		t.Errorf("%+v, %v", got, err)
	}
	if none, err := EstimateFrom(Fixed{Order: []string{"a"}}, all, nil); err != nil || none != (Estimate{}) {
		t.Errorf("a chooser without probabilities: %+v, %v", none, err)
	}
}

func TestAFixedSetIsChosenForEverySpan(t *testing.T) {
	t.Parallel()
	w := newWorld("fixed")
	own := w.begin(TowerShape(worldDim, 32), DefaultPPO(), DefaultCredit()).policy
	order := []string{w.skills[2].ID, "gone", w.skills[0].ID}
	f := Fixed{Chooser: own, Order: order}
	state := make([]float64, 2*worldDim)
	got, err := f.Choose(state, w.skills, Choice{K: 2})
	if err != nil || len(got.Chosen) != 2 || got.Chosen[0] != order[0] || got.Chosen[1] != order[2] || !got.Greedy ||
		got.LogProb != 0 || len(got.Logits) != len(w.skills) {
		t.Errorf("%+v, %v", got, err)
	}
	if best := TopK(got.Logits, 1)[0]; got.Candidates[best] != order[0] {
		t.Errorf("logits %v", got.Logits)
	}
	if (Fixed{Order: order[:1]}).Hash() == f.Hash() || f.Weights() != 0 {
		t.Error("two orders have one hash, or weights")
	}
	for _, k := range []int{0, -1} {
		if _, err := f.Choose(state, w.skills, Choice{K: k}); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%d skills: %v", k, err)
		}
	}
	if _, err := (Fixed{Order: []string{"gone"}}).Choose(state, w.skills, Choice{K: 1}); fault.CodeOf(err) !=
		fault.InvalidArgument {
		t.Errorf("none of the skills: %v", err)
	}
}
