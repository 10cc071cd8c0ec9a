package policy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/testkit"
)

// learner is a training with a controller.
type learner struct {
	Controller
	chooser   Chooser
	optimizer Optimizer
}

func started(t testing.TB, w *world) learner {
	t.Helper()
	l := learner{Controller: PPOLearner{}}
	var err error
	l.chooser, l.optimizer, err = l.Start(nil, nil, Form{Shape: TowerShape, Dim: worldDim,
		Hidden: worldHidden}, keyedrand.Key{Run: w.seed})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// train makes the updates from–to.
func (l *learner) train(t testing.TB, w *world, from, to int) (last Report) {
	t.Helper()
	for i := from; i < to; i++ {
		steps, err := DefaultCredit().Steps(w.iteration(l.chooser, i, 1, Choice{K: worldChosen}))
		if err != nil {
			t.Fatal(err)
		}
		if l.chooser, l.optimizer, last, err = l.Update(l.chooser, l.optimizer, Batch{Steps: steps, Vectors: w.vectors,
			PPO: DefaultPPO(), Key: keyedrand.Key{Run: w.seed, Iteration: i}}); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func TestAPolicyLearnsAndIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld("contract")
	l := started(t, w)
	untrained, before := l.chooser.Hash(), w.greedy(l.chooser)
	if l.optimizer.Steps() != 0 {
		t.Fatalf("%T with %d steps", l.chooser, l.optimizer.Steps())
	}
	first := l
	report := l.train(t, w, 0, 20)
	if got := w.greedy(l.chooser); got < before+0.15 || report.Credited == 0 || l.optimizer.Steps() == 0 {
		t.Errorf("overlap %.3f before, %.3f after; %+v", before, got, report)
	}
	if first.chooser.Hash() != untrained {
		t.Error("an update changed the chooser that it was given")
	}
	again := started(t, w)
	again.train(t, w, 0, 20)
	if again.chooser.Hash() != l.chooser.Hash() || again.optimizer.Hash() != l.optimizer.Hash() {
		t.Error("equal updates gave different choosers")
	}
	chooser, optimizer, err := l.Encode(l.chooser, l.optimizer)
	if err != nil {
		t.Fatal(err)
	}
	c, o, err := l.Decode(chooser, optimizer)
	if err != nil || c.Hash() != l.chooser.Hash() || o.Hash() != l.optimizer.Hash() ||
		o.Steps() != l.optimizer.Steps() {
		t.Fatalf("decoded as %v, %v", c.Hash(), err)
	}
	for i := range 50 {
		_, state := w.span(keyedrand.Key{Run: "stored", Span: i})
		for _, greedy := range []bool{true, false} {
			how := Choice{K: worldChosen, Greedy: greedy, Key: keyedrand.Key{Span: i}}
			a, err := l.chooser.Choose(state, w.skills, how)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := c.Choose(state, w.skills, how); err != nil || !slices.Equal(a.Chosen, b.Chosen) {
				t.Errorf("the stored chooser takes %v instead of %v, %v", b.Chosen, a.Chosen, err)
			}
		}
	}
	for at := range chooser[:200] {
		damaged := slices.Clone(chooser)
		damaged[at] ^= 1
		if _, _, err := l.Decode(damaged, optimizer); err == nil {
			t.Fatalf("byte %d was changed, and the chooser was read", at)
		}
	}
}

func TestPPORefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	w := newWorld("refusals")
	l := started(t, w)
	_, state := w.span(keyedrand.Key{})
	for what, choose := range map[string]func() (Decision, error){
		"no skills to choose": func() (Decision, error) { return l.chooser.Choose(state, w.skills, Choice{}) },
		"an empty bank":       func() (Decision, error) { return l.chooser.Choose(state, nil, Choice{K: 1}) },
		"a short state": func() (Decision, error) {
			return l.chooser.Choose(state[1:], w.skills, Choice{K: 1})
		},
		"a skill twice": func() (Decision, error) {
			return l.chooser.Choose(state, append(slices.Clone(w.skills), w.skills[0]), Choice{K: 1})
		},
		"a short vector": func() (Decision, error) {
			return l.chooser.Choose(state, []Candidate{{ID: "a", Vector: []float64{1}}}, Choice{K: 1})
		},
		"a state that is not a number": func() (Decision, error) {
			return l.chooser.Choose(slices.Repeat([]float64{math.NaN()}, len(state)), w.skills, Choice{K: 1})
		},
	} {
		if _, err := choose(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	d, err := l.chooser.Choose(state, w.skills, Choice{K: worldChosen})
	if err != nil {
		t.Fatal(err)
	}
	short, unknown := d, d
	short.State, unknown.Chosen = d.State[2:], []string{"elsewhere"}
	for what, steps := range map[string][]Step{"no decisions": nil, "a short state": {{Decision: short}},
		"a skill of another bank":     {{Decision: unknown, Credited: true}},
		"a reward that is not finite": {{Decision: d, Reward: math.Inf(1), Credited: true}}} {
		if _, _, _, err := l.Update(l.chooser, l.optimizer, Batch{Steps: steps, Vectors: w.vectors,
			PPO: DefaultPPO()}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if !l.Accepts(l.chooser, d) || l.Accepts(l.chooser, short) {
		t.Error("does not know which decisions it can learn from")
	}
}

func TestStartKeepsAPolicyOfTheSameForm(t *testing.T) {
	t.Parallel()
	w := newWorld("start")
	l := started(t, w)
	l.train(t, w, 0, 2)
	start := func(f Form) Chooser {
		t.Helper()
		f.Dim, f.Hidden = worldDim, worldHidden
		c, o, err := l.Start(l.chooser, l.optimizer, f, keyedrand.Key{Run: "start"})
		if err != nil {
			t.Fatal(err)
		}
		if kept := c.Hash() == l.chooser.Hash(); kept != (o.Steps() > 0) {
			t.Errorf("the optimizer of a policy that was kept, %v, has %d steps", kept, o.Steps())
		}
		return c
	}
	if c := start(Form{Shape: TowerShape}); c.Hash() != l.chooser.Hash() {
		t.Error("a policy of the same form was replaced")
	}
	for what, f := range map[string]Form{"fusion": {Shape: TowerShape, Fuse: SimWeighted}, "shape": {Shape: DotShape}} {
		if c := start(f); c.Hash() == l.chooser.Hash() {
			t.Errorf("another %s kept the weights", what)
		}
	}
}

// A decision of another controller has a probability that only that controller can compute.
func TestDecisionsOfOtherControllersAreTheirs(t *testing.T) {
	t.Parallel()
	w := newWorld("others")
	l := started(t, w)
	_, state := w.span(keyedrand.Key{})
	d, err := l.chooser.Choose(state, w.skills, Choice{K: 2})
	if err != nil || !l.Accepts(l.chooser, d) || d.Propensity() <= math.Exp(d.LogProb) {
		t.Errorf("%+v, %v", d, err)
	}
	d.Controller = "dice"
	if l.Accepts(l.chooser, d) || d.Propensity() != math.Exp(d.LogProb) {
		t.Errorf("%+v", d)
	}
}

// overlap returns the mean overlap of some worlds after worldUpdates updates.
func overlap(t testing.TB, skills, seeds int) float64 {
	mean := 0.0
	for seed := range seeds {
		w := newWorldOf(fmt.Sprintf("seed%d", seed), skills)
		l := started(t, w)
		l.train(t, w, 0, worldUpdates)
		mean += w.greedy(l.chooser) / float64(seeds)
	}
	return mean
}

// PPO has the overlap that is required of it as the mean of five worlds.
// BenchmarkLargeBanks measures all means.
func TestALargeBankIsLearnedInAHundredUpdates(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for skills, want := range map[int]float64{8: 0.98, 30: 0.93, 50: 0.93} {
		t.Run(fmt.Sprint(skills), func(t *testing.T) {
			t.Parallel()
			got := overlap(t, skills, 5)
			t.Logf("overlap %.4f", got)
			if got < want {
				t.Errorf("overlap %.4f, want %.2f", got, want)
			}
		})
	}
}

// BenchmarkLargeBanks measures the mean overlap of five worlds with 8, 30 and 50 skills.
func BenchmarkLargeBanks(b *testing.B) {
	for _, skills := range []int{8, 30, 50} {
		b.Run(fmt.Sprint(skills), func(b *testing.B) {
			for range b.N {
				b.ReportMetric(overlap(b, skills, 5), "overlap@100")
			}
		})
	}
}
