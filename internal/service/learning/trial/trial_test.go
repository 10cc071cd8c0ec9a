package trial

import (
	"testing"

	"cairn/internal/service/learning/episode"
)

// An outage in one episode does not affect the comparison.
func TestATrialComparesWhatBothBanksAnswered(t *testing.T) {
	t.Parallel()
	of := func(scores ...float64) (out []episode.QuestionResult) {
		for _, s := range scores {
			out = append(out, episode.QuestionResult{Score: max(0, s), Scored: s >= 0})
		}
		return out
	}
	const lost = -1
	for _, c := range []struct {
		a, b     []episode.QuestionResult
		ofA, ofB float64
		known    bool
	}{
		{of(1, 0, .5), of(0, 0, 1), .5, 1. / 3, true},
		{of(1, lost, .5), of(0, 1, 1), .75, .5, true},
		{of(lost, 1), of(1, lost), 0, 0, false},
		{nil, nil, 0, 0, false},
	} {
		if a, b, known := pairedMeans(c.a, c.b); a != c.ofA || b != c.ofB || known != c.known {
			t.Errorf("%v and %v: %v, %v, %v; want %v, %v, %v", c.a, c.b, a, b, known, c.ofA, c.ofB, c.known)
		}
	}
}
