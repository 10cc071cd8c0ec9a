package train

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// An outage in one episode does not affect the comparison.
func TestATrialComparesWhatBothBanksAnswered(t *testing.T) {
	t.Parallel()
	of := func(scores ...float64) (out []bank.QuestionResult) {
		for _, s := range scores {
			out = append(out, bank.QuestionResult{Score: max(0, s), Scored: s >= 0})
		}
		return out
	}
	const lost = -1
	for _, c := range []struct {
		episodes [][]bank.QuestionResult
		means    []float64
		known    bool
	}{
		{[][]bank.QuestionResult{of(1, 0, .5), of(0, 0, 1)}, []float64{.5, 1. / 3}, true},
		{[][]bank.QuestionResult{of(1, lost, .5), of(0, 1, 1)}, []float64{.75, .5}, true},
		{[][]bank.QuestionResult{of(1, lost, .5), of(0, 1, 1), of(lost, 1, 0)}, []float64{.5, 1, 0}, true},
		{[][]bank.QuestionResult{of(lost, 1), of(1, lost)}, []float64{0, 0}, false},
		{[][]bank.QuestionResult{nil, nil}, []float64{0, 0}, false},
	} {
		if means, known := pairedMeans(c.episodes...); !slices.Equal(means, c.means) || known != c.known {
			t.Errorf("%v: %v, %v; want %v, %v", c.episodes, means, known, c.means, c.known)
		}
	}
}

// A candidate passes only if it is better than each of the others with confidence, and not by chance.
func TestACandidateHasToBeatEachSide(t *testing.T) {
	t.Parallel()
	flat := func(score float64) []float64 { return slices.Repeat([]float64{score}, 8) }
	noisy := []float64{0, 1, 0, 1, 0, 1, 1, 1} // 0.625 in the mean
	for name, c := range map[string]struct {
		incumbent, all, fixed []float64
		want                  string
	}{
		"better than each":        {flat(.4), flat(.5), flat(.55), ""},
		"not than live builds":    {flat(.6), flat(.1), flat(.1), "live builds"},
		"not than all skills":     {flat(.1), flat(.6), flat(.1), "all skills"},
		"not than the fixed set":  {flat(.1), flat(.1), flat(.6), "best fixed set"},
		"worse than live builds":  {flat(.7), flat(.1), flat(.1), "live builds"},
		"better, and not sure of": {flat(.1), noisy, flat(.1), "all skills"},
	} {
		got, err := compare(flat(.6), c.incumbent, c.all, c.fixed)
		if err != nil {
			t.Fatal(err)
		}
		outcome, note := got.Verdict()
		if passed := c.want == ""; got.Promote != passed || (outcome == learning.Promoted) != passed ||
			!strings.Contains(note, c.want) {
			t.Errorf("%s: %s, %q, %+v", name, outcome, note, got)
		}
	}
	unsure, err := compare(noisy, flat(.6), flat(0), flat(0))
	if err != nil || unsure.Mean <= 0 {
		t.Fatalf("%+v, %v", unsure, err)
	}
	if outcome, _ := unsure.Verdict(); outcome != learning.Rejected {
		t.Errorf("better in the mean by chance: %s", outcome)
	}
}

// Sides with the same choices are played once.
func TestSidesWithTheSameChoicesAreAlike(t *testing.T) {
	t.Parallel()
	b, err := memoryskill.SeedBank(30, true)
	testkit.Must(t, err)
	order := memoryskill.Prior(b, nil)
	side := func(k int, order ...string) Side { return Side{Bank: b, Policy: policy.Fixed{Order: order}, K: k} }
	for name, c := range map[string]struct {
		a, b Side
		same bool
	}{
		"another order":    {side(2, order[0], order[1]), side(2, order[1], order[0]), true},
		"another set":      {side(2, order[0], order[1]), side(2, order[0], order[2]), false},
		"the usual number": {side(0, order...), side(3, order[:3]...), true},
		"all":              {side(4, order...), side(0, order...), false},
	} {
		if got := c.a.same(c.b, 3); got != c.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}
