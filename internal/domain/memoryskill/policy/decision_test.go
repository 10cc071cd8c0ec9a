package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

func ExampleScorer_Decide() {
	policy, _ := NewPolicy(TowerShape(2, 8), keyedrand.Key{Run: "example"})
	scorer, _ := policy.Scorer([]Candidate{
		{ID: "insert", Vector: []float64{1, 0}},
		{ID: "update", Vector: []float64{0, 1}},
		{ID: "noop", Vector: []float64{-1, 0}},
	})
	state := State([]float64{.6, .8}, nil) // a span, and no memories yet
	d, err := scorer.Decide(state, Choice{K: 2, Key: keyedrand.Key{Run: "example", Span: 3}})
	fmt.Println(d.Candidates, len(d.Chosen), d.LogProb < 0, err)
	// Output: [insert noop update] 2 true <nil>
}

func TestDecisionDoesNotDependOnTheOrderOfCandidates(t *testing.T) {
	t.Parallel()
	w := newWorld("order")
	for name, shape := range map[string]Shape{"tower": TowerShape(worldDim, 16), "dot": DotShape(worldDim, 25)} {
		policy, err := NewPolicy(shape, keyedrand.Key{})
		if err != nil {
			t.Fatal(err)
		}
		_, state := w.span(keyedrand.Key{})
		var decisions []Decision
		for range 2 {
			scorer, err := policy.Scorer(w.skills)
			if err != nil {
				t.Fatal(err)
			}
			d, err := scorer.Decide(state, Choice{K: 3, Key: keyedrand.Key{Span: 9}})
			if err != nil {
				t.Fatal(err)
			}
			decisions = append(decisions, d)
			w.skills = slices.Clone(w.skills)
			slices.Reverse(w.skills)
		}
		if !slices.Equal(decisions[0].Chosen, decisions[1].Chosen) ||
			!slices.Equal(decisions[0].Logits, decisions[1].Logits) {
			t.Errorf("%s: %+v and %+v", name, decisions[0], decisions[1])
		}
	}
}

func TestGreedyTakesTheLargestLogits(t *testing.T) {
	t.Parallel()
	w := newWorld("greedy")
	w.skills[0].Fresh = true
	policy, err := NewPolicy(TowerShape(worldDim, 16), keyedrand.Key{})
	if err != nil {
		t.Fatal(err)
	}
	scorer, err := policy.Scorer(w.skills)
	if err != nil {
		t.Fatal(err)
	}
	_, state := w.span(keyedrand.Key{})
	d, err := scorer.Decide(state, Choice{K: 20, Greedy: true, Exploration: DefaultExploration()})
	if err != nil || d.Bias != 0 || len(d.Chosen) != worldSkills {
		t.Fatalf("%+v %v", d, err)
	}
	for j := range d.Chosen[1:] {
		order, err := d.indices(d.Chosen[j : j+2])
		if err != nil || d.Logits[order[0]] < d.Logits[order[1]] {
			t.Errorf("%v before %v: %v", d.Chosen[j], d.Chosen[j+1], err)
		}
	}
}

func TestScorerRefusesWhatItWasNotTrainedFor(t *testing.T) {
	t.Parallel()
	policy, err := NewPolicy(TowerShape(2, 4), keyedrand.Key{})
	if err != nil {
		t.Fatal(err)
	}
	for name, candidates := range map[string][]Candidate{
		"none":  nil,
		"twice": {{ID: "a", Vector: []float64{1, 0}}, {ID: "a", Vector: []float64{0, 1}}},
		"long":  {{ID: "a", Vector: []float64{1, 0, 0}}},
	} {
		if _, err := policy.Scorer(candidates); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	scorer, err := policy.Scorer([]Candidate{{ID: "a", Vector: []float64{1, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scorer.Decide([]float64{1, 0}, Choice{K: 1}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a short state: %v", err)
	}
	if _, err := scorer.Decide([]float64{0, math.NaN(), 0, 0},
		Choice{K: 1}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a state that is no number: %v", err)
	}
	if _, err := (Policy{}).Scorer([]Candidate{{ID: "a"}}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("no policy: %v", err)
	}
	if _, err := scorer.Decide(make([]float64, 4), Choice{}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("no K: %v", err)
	}
	for name, shape := range map[string]Shape{"head": {Head: "mlp", Dim: 1, Hidden: 1, Scale: 1},
		"size": TowerShape(0, 4), "scale": {Head: Tower, Dim: 1, Hidden: 1}} {
		if _, err := NewPolicy(shape, keyedrand.Key{}); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The way to fuse memories is stored with the policy and part of its hash. Older policies keep
// their hash.
func TestAPolicyKnowsHowItFusesMemories(t *testing.T) {
	t.Parallel()
	span, memories := []float64{1, 0}, [][]float64{{1, 0}, {0, 2}}
	plain := TowerShape(2, 3)
	weighed, err := plain.Fused(SimWeighted, 0)
	if err != nil || weighed.Temperature != DefaultTemperature {
		t.Fatalf("%+v, %v", weighed, err)
	}
	nearAll(t, "mean", plain.State(span, memories), []float64{1, 0, .5, 1})
	nearAll(t, "weighed", weighed.State(span, memories), []float64{1, 0, math.E / (math.E + 1), 2 / (math.E + 1)})
	sharp, err := plain.Fused(SimWeighted, 1e-12)
	if err != nil {
		t.Fatal(err)
	}
	nearAll(t, "below the floor", sharp.State(span, memories), []float64{1, 0, 1, 0})
	hashes := map[string]bool{}
	for _, shape := range []Shape{plain, weighed, sharp} {
		p, err := NewPolicy(shape, keyedrand.Key{Run: "fuse"})
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParsePolicy(p.Blob())
		if err != nil || again.Shape() != shape || again.Hash() != p.Hash() {
			t.Errorf("%+v is read as %+v, %v", shape, again.Shape(), err)
		}
		hashes[p.Hash()] = true
	}
	if len(hashes) != 3 {
		t.Errorf("%d hashes of 3 policies", len(hashes))
	}
	if p, _ := NewPolicy(plain, keyedrand.Key{}); strings.Contains(string(p.Blob()), "fuse") {
		t.Error("the header of a plain policy contains fusing, which changes its hash")
	}
	if back, err := weighed.Fused(Mean, 0); err != nil || back != plain {
		t.Errorf("back to the mean: %+v, %v", back, err)
	}
	if same, err := sharp.Fused("", 0); err != nil || same != sharp {
		t.Errorf("left as it is: %+v, %v", same, err)
	}
	for name, temperature := range map[string]float64{"median": 0, Mean: 1, "": 1, SimWeighted: -1} {
		if _, err := plain.Fused(name, temperature); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q at %v: %v", name, temperature, err)
		}
	}
}

func TestStateFusesMemories(t *testing.T) {
	t.Parallel()
	span := []float64{1, 0}
	memories := [][]float64{{1, 0}, {0, 2}}
	nearAll(t, "none", State(span, nil), []float64{1, 0, 0, 0})
	nearAll(t, "mean", State(span, memories), []float64{1, 0, .5, 1})
	e := math.E
	nearAll(t, "by similarity", StateBySimilarity(span, memories, 1), []float64{1, 0, e / (e + 1), 2 / (e + 1)})
	nearAll(t, "sharply", StateBySimilarity(span, memories, 0), []float64{1, 0, 1, 0})
	nearAll(t, "none by similarity", StateBySimilarity(span, nil, 1), []float64{1, 0, 0, 0})
}
