package bank_test

import (
	"fmt"
	"testing"

	"cairn/internal/domain/learning"
	"cairn/internal/service/learning/bank"
)

// scores returns as many scores of voters as given; the first number is of scores without a voter.
func scores(none int, voters ...int) (out []learning.Outcome) {
	for i, n := range append([]int{none}, voters...) {
		voter := ""
		if i > 0 {
			voter = fmt.Sprint("key/", i)
		}
		for range n {
			out = append(out, learning.Outcome{Op: fmt.Sprintf("%d of %d", len(out), i), Voter: voter})
		}
	}
	return out
}

func TestNoVoterHasMoreThanAQuarter(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		scores       []learning.Outcome
		voters, want int
	}{
		"no scores":                {nil, 0, 0},
		"equal voters":             {scores(0, 8, 8, 8, 8, 8), 5, 40},
		"one with many":            {scores(0, 100, 3, 3, 3, 3), 5, 16},
		"two with many":            {scores(0, 100, 50, 3, 3, 3, 3), 6, 24},
		"three with many":          {scores(0, 100, 50, 40, 3, 3), 5, 24},
		"many that are no votes":   {scores(100, 2, 2, 2, 2, 2), 5, 13},
		"not a whole quarter":      {scores(0, 3, 2, 2, 2, 2), 5, 10},
		"one each":                 {scores(0, 1, 1, 1, 1, 1), 5, 5},
		"too few voters: all stay": {scores(7, 100, 3, 3, 3), 4, 116},
	} {
		got := bank.Capped(c.scores)
		most := map[string]int{}
		for _, s := range got {
			most[s.Voter]++
		}
		if n := bank.Voters(got); n != c.voters || len(got) != c.want {
			t.Errorf("%s: %d scores of %d voters, want %d of %d", what, len(got), n, c.want, c.voters)
		}
		for voter, n := range most {
			if c.voters >= bank.MinVoters && 4*n > len(got) {
				t.Errorf("%s: %q has %d of %d scores", what, voter, n, len(got))
			}
		}
	}
}
