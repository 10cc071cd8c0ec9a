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
	before := w.begin(TowerShape(worldDim, 32), DefaultPPO(), DefaultCredit()).policy
	steps := stale(t, w, before)
	b := Batch{Steps: steps, Vectors: w.vectors, PPO: DefaultPPO(), Key: keyedrand.Key{Run: "limit"}, MaxWeight: 2}
	b.PPO.LearningRate, b.PPO.Epochs = 0.01, 12
	free, _, report, err := PPOLearner{}.Update(before, Adam{}, b)
	if err != nil || report.MeanKL != 0 || report.Kept != 0 {
		t.Fatalf("without a limit: %+v, %v", report, err)
	}
	d, err := newDivergence(before, steps, w.vectors)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := d.of(free.(Policy))
	if err != nil || whole <= DefaultMaxKL {
		t.Fatalf("the whole update diverges by %v, which shows nothing; %v", whole, err)
	}
	b.MaxKL = DefaultMaxKL
	after, _, report, err := PPOLearner{}.Update(before, Adam{}, b)
	if err != nil {
		t.Fatal(err)
	}
	kl, err := d.of(after.(Policy))
	if err != nil || kl > DefaultMaxKL || kl < 0.9*DefaultMaxKL || math.Abs(kl-report.MeanKL) > 1e-12 ||
		!(report.Kept > 0 && report.Kept < 1) {
		t.Errorf("divergence %v of a whole of %v, reported %+v, %v", kl, whole, report, err)
	}
	if b.MaxKL = 10 * whole; true {
		same, _, report, err := PPOLearner{}.Update(before, Adam{}, b)
		if err != nil || same.Hash() != free.Hash() || report.Kept != 1 {
			t.Errorf("a limit that is not met: kept %v, %v", report.Kept, err)
		}
	}
}
