package policy

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// sampled returns a small batch of credited steps with their policy and vectors.
func sampled(t testing.TB, shape Shape) (Policy, []Step, map[string][]float64) {
	t.Helper()
	w := newWorld("sampled")
	policy, err := NewPolicy(shape, keyedrand.Key{Run: w.seed})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := DefaultCredit().Steps(w.iteration(policy, 0, 1, Choice{K: worldChosen}))
	if err != nil {
		t.Fatal(err)
	}
	return policy, steps, w.vectors
}

func TestUpdateLeavesWhatItWasGiven(t *testing.T) {
	t.Parallel()
	policy, steps, vectors := sampled(t, TowerShape(worldDim, 16))
	before := policy.Hash()
	key := keyedrand.Key{Run: "update"}
	next, optimizer, report, err := Update(policy, Adam{}, steps, vectors, DefaultPPO(), key)
	if err != nil {
		t.Fatal(err)
	}
	moments := optimizer.Hash()
	if policy.Hash() != before || next.Hash() == before {
		t.Error("the update changed the policy it was given, or made no other")
	}
	if report.Decisions != 108 || report.Credited != 108 || report.Steps != 40 || report.Epochs != 10 {
		t.Errorf("%+v", report)
	}
	again, _, _, err := Update(next, optimizer, steps, vectors, DefaultPPO(), key)
	if err != nil || optimizer.Hash() != moments || again.Hash() == next.Hash() {
		t.Errorf("the second update changed its optimizer: %v", err)
	}
	same, _, _, _ := Update(policy, Adam{}, steps, vectors, DefaultPPO(), key)
	if same.Hash() != next.Hash() {
		t.Error("equal arguments gave another policy")
	}
	other, _, _, _ := Update(policy, Adam{}, steps, vectors, DefaultPPO(), keyedrand.Key{Run: "update", Iteration: 1})
	if other.Hash() == next.Hash() {
		t.Error("minibatches do not depend on the iteration")
	}
}

// A new policy's log-probabilities equal the recorded ones, so the first ratios are 1 and the first
// KL is 0, with or without exploration bias.
func TestRecordedDecisionsAreReproduced(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]Shape{"tower": TowerShape(worldDim, 16), "dot": DotShape(worldDim, 25)} {
		w := newWorld("recorded")
		w.skills[1].Fresh, w.skills[6].Fresh = true, true
		policy, err := NewPolicy(shape, keyedrand.Key{})
		if err != nil {
			t.Fatal(err)
		}
		steps, err := DefaultCredit().Steps(w.iteration(policy, 0, 1,
			Choice{K: worldChosen, Exploration: DefaultExploration()}))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(steps, func(s Step) bool { return s.Bias > 0 }) {
			t.Fatal("no decision had a bias")
		}
		p := DefaultPPO()
		p.Epochs, p.Minibatch = 1, len(steps)
		_, _, report, err := Update(policy, Adam{}, steps, w.vectors, p, keyedrand.Key{})
		if err != nil || math.Abs(report.First.KL) > 1e-12 || report.First.Clipped != 0 {
			t.Errorf("%s: KL %v, clipped %v, %v", name, report.First.KL, report.First.Clipped, err)
		}
	}
}

func TestStepsWithoutCreditTeachNothing(t *testing.T) {
	t.Parallel()
	policy, steps, vectors := sampled(t, TowerShape(worldDim, 16))
	p := DefaultPPO()
	p.EntropyCoef = 0
	for i := range steps {
		steps[i].Credited = false
		steps[i].Reward = float64(i)
	}
	next, _, report, err := Update(policy, Adam{}, steps, vectors, p, keyedrand.Key{})
	if err != nil || next.Hash() != policy.Hash() || report.Credited != 0 {
		t.Errorf("the policy changed: %+v %v", report, err)
	}
}

func TestTargetKLEndsAnUpdate(t *testing.T) {
	t.Parallel()
	policy, steps, vectors := sampled(t, TowerShape(worldDim, 16))
	p := DefaultPPO()
	p.LearningRate, p.Epochs, p.TargetKL = .02, 10, .02
	_, _, report, err := Update(policy, Adam{}, steps, vectors, p, keyedrand.Key{})
	if err != nil || !report.StoppedKL || report.Epochs == 10 || report.Last.KL <= .02 {
		t.Errorf("%+v %v", report, err)
	}
}

func TestUpdateRefusesWhatCannotBeLearntFrom(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Step){
		"greedy":              func(s *Step) { s.Greedy = true },
		"no choice":           func(s *Step) { s.Chosen = nil },
		"chosen twice":        func(s *Step) { s.Chosen = []string{"skill1", "skill1"} },
		"no candidate":        func(s *Step) { s.Chosen = []string{"skill99"} },
		"short state":         func(s *Step) { s.State = s.State[1:] },
		"reward is NaN":       func(s *Step) { s.Reward = math.NaN() },
		"order":               func(s *Step) { s.Candidates = []string{"skill1", "skill0"} },
		"candidate twice":     func(s *Step) { s.Candidates[1] = s.Candidates[0] },
		"unknown candidate":   func(s *Step) { s.Candidates = []string{"skill0", "zebra"} },
		"fresh, no candidate": func(s *Step) { s.Fresh = []string{"zebra"} },
	} {
		policy, steps, vectors := sampled(t, TowerShape(worldDim, 16))
		spoil(&steps[5])
		if next, _, _, err := Update(policy, Adam{}, steps, vectors, DefaultPPO(), keyedrand.Key{}); err == nil ||
			next.Hash() != policy.Hash() {
			t.Errorf("%s: %v", name, err)
		}
	}
	policy, steps, vectors := sampled(t, TowerShape(worldDim, 16))
	p := DefaultPPO()
	p.LearningRate = 1e308
	if next, _, _, err := Update(policy, Adam{}, steps, vectors, p,
		keyedrand.Key{}); fault.CodeOf(err) != fault.Internal || next.Hash() != policy.Hash() {
		t.Errorf("a diverged update gave %v", err)
	}
}

func TestWeightsSurviveTheirBlob(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]Shape{"tower": TowerShape(worldDim, 16), "dot": DotShape(worldDim, 25)} {
		policy, steps, vectors := sampled(t, shape)
		policy, optimizer, _, err := Update(policy, Adam{}, steps, vectors, DefaultPPO(), keyedrand.Key{})
		if err != nil {
			t.Fatal(err)
		}
		readPolicy, err := ParsePolicy(policy.Blob())
		if err != nil {
			t.Fatal(err)
		}
		readOptimizer, err := ParseAdam(optimizer.Blob())
		if err != nil {
			t.Fatal(err)
		}
		a, _, _, _ := Update(policy, optimizer, steps, vectors, DefaultPPO(), keyedrand.Key{})
		b, _, _, err := Update(readPolicy, readOptimizer, steps, vectors, DefaultPPO(), keyedrand.Key{})
		if err != nil || a.Hash() != b.Hash() || readPolicy.Shape() != shape {
			t.Errorf("%s: training went on differently from the file: %v", name, err)
		}
		if len(policy.Hash()) != 64 || policy.Hash() == optimizer.Hash() {
			t.Errorf("hashes %s, %s", policy.Hash(), optimizer.Hash())
		}
	}
	if empty, err := ParseAdam(Adam{}.Blob()); err != nil || empty.Steps() != 0 {
		t.Errorf("an optimizer that has not stepped: %v", err)
	}
}

func TestDamagedWeightsAreRefused(t *testing.T) {
	t.Parallel()
	policy, err := NewPolicy(TowerShape(4, 4), keyedrand.Key{})
	if err != nil {
		t.Fatal(err)
	}
	whole := policy.Blob()
	for i := range whole {
		blob := bytes.Clone(whole)
		blob[i] ^= 4
		if _, err := ParsePolicy(blob); fault.CodeOf(err) != fault.InvalidArgument {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	huge := encodeBlob(policyKind, Shape{Head: Tower, Dim: 1 << 40, Hidden: 1 << 40, Scale: 4})
	infinite := encodeBlob(policyKind, policy.shape, append(slices.Clone(policy.weights[1:]), math.Inf(1)))
	for name, blob := range map[string][]byte{
		"cut": whole[:len(whole)-1], "empty": nil, "of the optimizer": Adam{}.Blob(), "huge": huge,
		"infinite": infinite,
		"another header": encodeBlob(policyKind,
			map[string]any{"head": Tower, "dim": 4, "hidden": 4, "scale": 4.0, "more": 1}, policy.weights),
		"too few":      encodeBlob(policyKind, policy.shape, policy.weights[1:]),
		"another head": encodeBlob(policyKind, Shape{Head: "mlp", Dim: 4, Hidden: 4, Scale: 4}, policy.weights),
	} {
		if _, err := ParsePolicy(blob); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
