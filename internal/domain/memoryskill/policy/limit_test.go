package policy

import (
	"math"
	"testing"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// An update from live decisions changes the probabilities by at most the limit, and in the direction
// of the whole update.
func TestAnUpdateIsLimitedToItsDivergence(t *testing.T) {
	t.Parallel()
	w := newWorld("limit")
	l := started(t, w)
	l.train(t, w, 0, 2)
	before := l.chooser.(Policy)
	steps := stale(t, w, before)
	b := Batch{Steps: steps, Vectors: w.vectors, PPO: DefaultPPO(), Key: keyedrand.Key{Run: "limit"}, MaxWeight: 2}
	b.PPO.LearningRate, b.PPO.Epochs = 0.01, 12
	update := func() (Policy, Report) {
		after, o, report, err := l.Update(before, l.optimizer, b)
		if err != nil || o.Steps() <= l.optimizer.Steps() {
			t.Fatalf("%d steps of the optimizer, %v", o.Steps(), err)
		}
		return after.(Policy), report
	}
	free, report := update()
	if report.MeanKL != 0 || report.Kept != 0 {
		t.Fatalf("without a limit: %+v", report)
	}
	d, err := newDivergence(before, steps, w.vectors)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := d.of(free)
	if err != nil || whole <= 1.2*DefaultMaxKL {
		t.Fatalf("the whole update diverges by %v, which shows nothing; %v", whole, err)
	}
	b.MaxKL = DefaultMaxKL
	after, report := update()
	kl, err := d.of(after)
	if err != nil || kl > DefaultMaxKL || kl < 0.9*DefaultMaxKL || math.Abs(kl-report.MeanKL) > 1e-12 ||
		!(report.Kept > 0 && report.Kept < 1) {
		t.Errorf("divergence %v of a whole of %v, reported %+v, %v", kl, whole, report, err)
	}
	if near, err := newDivergence(after, steps, w.vectors); err != nil {
		t.Fatal(err)
	} else if left, err := near.of(free); err != nil || left >= whole {
		t.Errorf("the whole update diverges by %v, and by %v from the limited one, %v", whole, left, err)
	}
	b.MaxKL = 10 * whole
	if same, report := update(); same.Hash() != free.Hash() || report.Kept != 1 {
		t.Errorf("a limit that is not met: kept %v", report.Kept)
	}
	b.MaxKL = DefaultMaxKL
	if again, _ := update(); again.Hash() != after.Hash() {
		t.Error("equal updates gave different choosers")
	}
}

// Small updates add up.
func TestLimitedUpdatesLearn(t *testing.T) {
	t.Parallel()
	w := newWorld("small steps")
	l := started(t, w)
	untrained, least := w.greedy(l.chooser), 1.0
	for i := range 10 {
		steps, err := DefaultCredit().Steps(w.iteration(l.chooser, i, 1, Choice{K: worldChosen}))
		if err != nil {
			t.Fatal(err)
		}
		var report Report
		if l.chooser, l.optimizer, report, err = l.Update(l.chooser, l.optimizer, Batch{Steps: steps,
			Vectors: w.vectors, PPO: DefaultPPO(), Key: keyedrand.Key{Iteration: i},
			MaxKL: DefaultMaxKL}); err != nil {
			t.Fatal(err)
		}
		if least = min(least, report.Kept); !(report.MeanKL > 0 && report.MeanKL <= DefaultMaxKL) {
			t.Errorf("update %d: %+v", i, report)
		}
	}
	got := w.greedy(l.chooser)
	t.Logf("overlap %.3f before, %.3f after; at least %.4f of an update was kept", untrained, got, least)
	if got < untrained+0.15 {
		t.Error("the overlap is not higher")
	}
}
