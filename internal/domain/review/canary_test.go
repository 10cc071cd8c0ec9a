package review_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cairn/internal/domain/review"
)

func outcomes(version, passed, failed int) (out []review.Trial) {
	for range passed {
		out = append(out, review.Trial{Version: version, Passed: true})
	}
	for range failed {
		out = append(out, review.Trial{Version: version})
	}
	return out
}

func TestTheOutcomesOfACanaryDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		proposed, current []review.Trial
		want              review.CanaryVerdict
	}{
		{outcomes(2, 9, 0), outcomes(1, 2, 3), review.Undecided}, // too few outcomes, however good
		{outcomes(2, 10, 0), outcomes(1, 2, 3), review.Promoted},
		{outcomes(2, 9, 1), outcomes(1, 3, 3), review.Promoted},
		{outcomes(2, 5, 5), outcomes(1, 5, 5), review.Undecided},
		{outcomes(2, 6, 4), outcomes(1, 10, 0), review.Rejected},
		{nil, outcomes(1, 5, 0), review.Undecided},
		{outcomes(2, 0, 3), outcomes(1, 5, 0), review.Stopped},
		{outcomes(2, 1, 4), outcomes(1, 5, 0), review.Stopped},
		{outcomes(2, 1, 2), outcomes(1, 5, 0), review.Undecided},
	} {
		got, reason := review.Canary{Proposed: c.proposed, Current: c.current}.Verdict()
		if got != c.want || reason == "" {
			t.Errorf("%v against %v: %q because %q, want %q", c.proposed, c.current, got, reason, c.want)
		}
	}
	if review.NeedsCanary(outcomes(1, 4, 0)) || !review.NeedsCanary(outcomes(1, 2, 3)) {
		t.Error("a canary needs five outcomes of the version in force")
	}
}

// The closed form is compared with samples.
func TestTheProbabilityOfBeingBetter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	beta := func(passed, failed int) float64 { // from gamma variables with whole shapes
		gamma := func(k int) (sum float64) {
			for range k {
				sum += r.ExpFloat64()
			}
			return sum
		}
		x := gamma(1 + passed)
		return x / (x + gamma(1+failed))
	}
	for _, c := range [][4]int{{0, 0, 0, 0}, {9, 1, 3, 3}, {10, 0, 2, 3}, {3, 9, 20, 4}, {400, 100, 390, 110}} {
		const samples = 20_000
		n := 0
		for range samples {
			if beta(c[0], c[1]) > beta(c[2], c[3]) {
				n++
			}
		}
		got := review.Canary{Proposed: outcomes(2, c[0], c[1]), Current: outcomes(1, c[2], c[3])}.Better()
		if want := float64(n) / samples; math.Abs(got-want) > .02 {
			t.Errorf("%v: %.3f, and %.3f of the samples", c, got, want)
		}
	}
}

func TestAFifthOfTheConversationsSeeACanary(t *testing.T) {
	t.Parallel()
	for change := range int64(5) {
		n := 0
		for c := range int64(10_000) {
			if review.ShownIn(c, change) {
				n++
			}
		}
		if n < 1850 || n > 2150 {
			t.Errorf("change %d is shown in %d of 10000 conversations", change, n)
		}
	}
}
