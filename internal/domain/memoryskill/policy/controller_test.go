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

func started(t testing.TB, name string, w *world) learner {
	t.Helper()
	l := learner{Controller: Controllers{}}
	var err error
	l.chooser, l.optimizer, err = l.Start(nil, nil, Form{Controller: name, Shape: TowerShape, Dim: worldDim,
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

// each runs a test with each controller.
func each(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for _, name := range ControllerNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

func TestEveryControllerLearnsAndIsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, name string) {
		w := newWorld("contract")
		l := started(t, name, w)
		untrained, before := l.chooser.Hash(), w.greedy(l.chooser)
		if ControllerOf(l.chooser) != name || l.optimizer.Steps() != 0 {
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
		again := started(t, name, w)
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
	})
}

func TestEveryControllerRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, name string) {
		w := newWorld("refusals")
		l := started(t, name, w)
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
	})
}

func TestAControllerIsSwitchedByItsName(t *testing.T) {
	t.Parallel()
	w := newWorld("switch")
	l := started(t, ControllerThompson, w)
	l.train(t, w, 0, 2)
	start := func(f Form) Chooser {
		t.Helper()
		f.Shape, f.Dim, f.Hidden = TowerShape, worldDim, worldHidden
		c, _, err := l.Start(l.chooser, l.optimizer, f, keyedrand.Key{Run: "switch"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := start(Form{}); c.Hash() != l.chooser.Hash() {
		t.Error("without a name the bandit was replaced")
	}
	if c := start(Form{Fuse: SimWeighted}); c.Hash() == l.chooser.Hash() || ControllerOf(c) != ControllerThompson {
		t.Error("another fusion of memories kept the statistics")
	}
	c := start(Form{Controller: ControllerPPO})
	if ControllerOf(c) != ControllerPPO {
		t.Errorf("%T", c)
	}
	if _, _, err := l.Start(nil, nil, Form{Controller: "dice"}, keyedrand.Key{}); err == nil {
		t.Error("an unknown controller")
	}
	_, state := w.span(keyedrand.Key{})
	d, err := l.chooser.Choose(state, w.skills, Choice{K: 2})
	if err != nil || l.Accepts(c, d) {
		t.Errorf("PPO learns from the probabilities of a bandit, %v", err)
	}
	if own, err := c.Choose(state, w.skills, Choice{K: 2}); err != nil || !l.Accepts(l.chooser, own) {
		t.Errorf("a bandit does not learn from the choices of PPO, %v", err)
	}
}

// The propensities of all sets add up to one, and are the frequencies of the draws.
func TestABanditKnowsItsProbabilities(t *testing.T) {
	t.Parallel()
	means, deviations := []float64{.3, .1, -.2, .15, .25}, []float64{.1, .4, .2, .02, .3}
	sum := 0.0
	byChoice := map[string]float64{}
	for a := range means {
		for b := range a {
			p := math.Exp(logProbTop(means, deviations, []int{a, b}))
			byChoice[fmt.Sprint(b, a)] = p
			sum += p
		}
	}
	if math.Abs(sum-1) > 2e-3 {
		t.Errorf("the probabilities add up to %.4f", sum)
	}
	stream, counts := keyedrand.Key{Purpose: "bandit"}.Stream(), map[string]float64{}
	const draws = 100_000
	for range draws {
		scores := make([]float64, len(means))
		for i := range scores {
			scores[i] = means[i] + deviations[i]*stream.Normal()
		}
		top := TopK(scores, 2)
		slices.Sort(top)
		counts[fmt.Sprint(top[0], top[1])]++
	}
	for choice, p := range byChoice {
		if got := counts[choice] / draws; math.Abs(got-p) > .006 {
			t.Errorf("skills %s are drawn with frequency %.4f, probability %.4f", choice, got, p)
		}
	}
	if logProbTop(means, deviations, []int{0, 1, 2, 3, 4}) != 0 {
		t.Error("a choice of all skills is not certain")
	}
}

// A refined skill starts with what its predecessor has learned; an unrelated one starts with the prior.
func TestABanditSharesStatisticsOfSimilarSkills(t *testing.T) {
	t.Parallel()
	w := newWorld("similar")
	l := started(t, ControllerThompson, w)
	l.train(t, w, 0, 20)
	stream := w.newcomer()
	refined, other := slices.Clone(w.skills[0].Vector), unit(gaussian(&stream))
	refined[0] += 0.01
	_, state := w.span(keyedrand.Key{})
	b := l.chooser.(Bandit)
	mean, deviation := b.posterior(w.skills[0]).predict(inputs(state))
	likeMean, likeDeviation := b.posterior(Candidate{ID: "refined", Vector: unit(refined)}).predict(inputs(state))
	newMean, newDeviation := b.posterior(Candidate{ID: "other", Vector: other}).predict(inputs(state))
	if math.Abs(likeMean-mean) > .02 || likeDeviation > 1.1*deviation {
		t.Errorf("the refined skill has %.3f ± %.3f, its predecessor %.3f ± %.3f", likeMean, likeDeviation, mean,
			deviation)
	}
	if math.Abs(newMean) > .1 || newDeviation < 1.3*deviation {
		t.Errorf("an unrelated skill has %.3f ± %.3f", newMean, newDeviation)
	}
}

// overlap returns the mean overlap of some worlds after worldUpdates updates.
func overlap(t testing.TB, name string, skills, seeds int) float64 {
	mean := 0.0
	for seed := range seeds {
		w := newWorldOf(fmt.Sprintf("seed%d", seed), skills)
		l := started(t, name, w)
		l.train(t, w, 0, worldUpdates)
		mean += w.greedy(l.chooser) / float64(seeds)
	}
	return mean
}

// The default controller has the overlap that is required of it as the mean of five worlds.
// BenchmarkLargeBanks measures all means.
func TestALargeBankIsLearnedInAHundredUpdates(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		controller    string
		skills, seeds int
		want          float64
	}{{ControllerPPO, 8, 5, 0.98}, {ControllerPPO, 30, 5, 0.93}, {ControllerPPO, 50, 5, 0.93},
		{ControllerThompson, 30, 1, 0.93}} {
		t.Run(fmt.Sprintf("%s-%d", c.controller, c.skills), func(t *testing.T) {
			t.Parallel()
			got := overlap(t, c.controller, c.skills, c.seeds)
			t.Logf("overlap %.4f", got)
			if got < c.want {
				t.Errorf("overlap %.4f, want %.2f", got, c.want)
			}
		})
	}
}

// BenchmarkLargeBanks measures the mean overlap of five worlds with 8, 30 and 50 skills.
func BenchmarkLargeBanks(b *testing.B) {
	for _, name := range ControllerNames {
		for _, skills := range []int{8, 30, 50} {
			b.Run(fmt.Sprintf("%s-%d", name, skills), func(b *testing.B) {
				for range b.N {
					b.ReportMetric(overlap(b, name, skills, 5), "overlap@100")
				}
			})
		}
	}
}

// Each controller knows how probable its own choices and those of the other one are, so that an update of either can
// be estimated.
func TestEveryControllerIsEstimatedFromLoggedChoices(t *testing.T) {
	t.Parallel()
	w := newWorld("estimated")
	choosers, logs := map[string]Chooser{}, map[string][]Logged{}
	for _, name := range ControllerNames {
		l := started(t, name, w)
		l.train(t, w, 0, 3)
		choosers[name] = l.chooser
		for _, e := range w.iteration(l.chooser, 9, 1, Choice{K: worldChosen}) {
			for _, d := range e.Decisions {
				logs[name] = append(logs[name], Logged{Decision: d, Score: 0.5})
			}
		}
	}
	for _, name := range ControllerNames {
		for by, logged := range logs {
			got, err := EstimateFrom(choosers[name], logged, w.vectors)
			n := float64(len(logged))
			if err != nil || math.Abs(got.Mean-0.5) > 1e-9 || got.Effective < 1-1e-9 || got.Effective > n+1e-6 {
				t.Errorf("%s on choices of %s: %+v of %v, %v", name, by, got, n, err)
			}
			if name == by && got.Effective < n-1e-6 {
				t.Errorf("%s on its own choices: %v of %v", name, got.Effective, n)
			}
		}
	}
}
