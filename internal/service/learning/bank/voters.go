package bank

import (
	"slices"

	"cairn/internal/domain/learning"
)

// MinVoters is the number of voters without whose votes nothing is promoted automatically.
const MinVoters = 5

// maxShare is the number of parts of which one voter's votes are at most one: a quarter.
const maxShare = 4

// Voters returns the number of voters of scores. Scores that are no votes have none.
func Voters(scores []learning.Outcome) int {
	var voters []string
	for _, s := range scores {
		if s.Voter != "" {
			voters = append(voters, s.Voter)
		}
	}
	slices.Sort(voters)
	return len(slices.Compact(voters))
}

// Capped leaves out scores so that no voter has more than a quarter of those that remain. Scores
// that are no votes count like those of one more voter: corrections in messages may all be of one
// person. With fewer than MinVoters voters all scores remain; nothing is promoted on them.
func Capped(scores []learning.Outcome) (out []learning.Outcome) {
	if Voters(scores) < MinVoters {
		return scores
	}
	counts := map[string]int{}
	for _, s := range scores {
		counts[s.Voter]++
	}
	most := limit(counts)
	kept := map[string]int{}
	for _, s := range scores {
		if kept[s.Voter] < most {
			kept[s.Voter]++
			out = append(out, s)
		}
	}
	return out
}

// limit returns the largest number of scores per voter that is at most a quarter of all scores
// that remain under it: if m voters reach it, a quarter of m·limit and the scores of the others.
func limit(counts map[string]int) int {
	var sizes []int
	rest := 0
	for _, n := range counts {
		sizes, rest = append(sizes, n), rest+n
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	for m := 0; ; m++ { // ends with m = 3 at the latest: the next one's scores are among the rest
		if most := rest / (maxShare - m); sizes[m] <= most {
			return most
		}
		rest -= sizes[m]
	}
}
