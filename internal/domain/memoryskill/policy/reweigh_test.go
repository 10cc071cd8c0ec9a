package policy

import (
	"math"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// stale returns credited steps of one policy in a world.
func stale(t *testing.T, w *world, by Chooser) []Step {
	t.Helper()
	steps, err := DefaultCredit().Steps(w.iteration(by, 0, 1, Choice{K: worldChosen}))
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestAPolicysOwnDecisionsWeighOne(t *testing.T) {
	t.Parallel()
	w := newWorld("own")
	policy := w.begin(TowerShape(worldDim, 32), DefaultPPO(), DefaultCredit()).policy
	steps := stale(t, w, policy)
	got, err := Reweigh(policy, steps, w.vectors, DefaultMaxWeight)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if math.Abs(got[i].Weight-1) > 1e-9 || math.Abs(got[i].LogProb-steps[i].LogProb) > 1e-9 {
			t.Fatalf("step %d weighs %v at log π %v, was %v", i, got[i].Weight, got[i].LogProb, steps[i].LogProb)
		}
	}
}

// The weight is the ratio of probabilities under both policies, up to the bound. The step then
// belongs to the new policy.
func TestAnotherPolicysDecisionsWeighTheirRatio(t *testing.T) {
	t.Parallel()
	w := newWorld("other")
	behaviour := w.begin(TowerShape(worldDim, 32), DefaultPPO(), DefaultCredit()).policy
	steps := stale(t, w, behaviour)
	now := &training{policy: behaviour, ppo: DefaultPPO(), credit: DefaultCredit(), workers: 1,
		choice: Choice{K: worldChosen}}
	w.train(now, 1, 20)
	got, err := Reweigh(now.policy, steps, w.vectors, DefaultMaxWeight)
	if err != nil {
		t.Fatal(err)
	}
	scorer, err := now.policy.Scorer(w.skills)
	if err != nil {
		t.Fatal(err)
	}
	below, bounded := 0, 0
	for i, s := range steps {
		z, _, err := scorer.Score(s.State)
		if err != nil {
			t.Fatal(err)
		}
		chosen, err := s.indices(s.Chosen)
		if err != nil {
			t.Fatal(err)
		}
		ratio := math.Exp(LogProb(z, chosen) - s.LogProb)
		if want := min(ratio, DefaultMaxWeight); math.Abs(got[i].Weight-want) > 1e-9 {
			t.Fatalf("step %d weighs %v, the ratio is %v", i, got[i].Weight, ratio)
		}
		if ratio > DefaultMaxWeight {
			bounded++
		} else if ratio < 0.9 {
			below++
		}
	}
	if bounded == 0 || below == 0 {
		t.Errorf("%d weights are at the bound and %d below 0.9: this shows nothing", bounded, below)
	}
	first := got[0]
	first.Weight = -1
	if _, _, _, err := Update(now.policy, Adam{}, []Step{first}, w.vectors, DefaultPPO(),
		keyedrand.Key{}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a negative weight: %v", err)
	}
	for _, most := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Reweigh(now.policy, steps, w.vectors, most); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("bound %v: %v", most, err)
		}
	}
}

// A policy also learns from the decisions of an older policy: the world of the other tests, where
// every batch is from the policy of two updates before.
func TestAPolicyLearnsFromStaleDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld("stale")
	run := w.begin(TowerShape(worldDim, 64), DefaultPPO(), DefaultCredit())
	before := w.greedy(run.policy)
	policies := []Policy{run.policy, run.policy}
	for i := range 60 {
		steps, err := run.credit.Steps(w.iteration(policies[i], i, 1, run.choice))
		if err == nil {
			steps, err = Reweigh(run.policy, steps, w.vectors, DefaultMaxWeight)
		}
		if err == nil {
			run.policy, run.optimizer, _, err = Update(run.policy, run.optimizer, steps, w.vectors, run.ppo,
				keyedrand.Key{Run: w.seed, Iteration: i})
		}
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, run.policy)
	}
	after := w.greedy(run.policy)
	t.Logf("greedy overlap %.3f before, %.3f after", before, after)
	if after < 0.7 || after < before+0.15 {
		t.Errorf("greedy overlap is %.3f after 60 stale updates, %.3f before", after, before)
	}
}
