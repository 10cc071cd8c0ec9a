package memoryskill

import (
	"math"

	"cairn/internal/domain/fault"
)

// MinSelections is how often a version must have been selected before it can be
// judged not to be worth its place.
const MinSelections = 20

// Evict names the skill to remove when a full bank needs room: the one with the
// lowest upper confidence bound of its reward, mean + √(2·ln N / n) (UCB1, Auer
// et al. 2002), N being all selections in the bank. Of equals it is the first by
// name. Primitives are never named, nor is a version with fewer than
// MinSelections; quota_exceeded when nothing is left. stats is by version id, of
// parents too.
func Evict(b Bank, stats map[string]Stats) (name string, err error) {
	total := 0
	for _, v := range b.versions {
		total += stats[v.ID].Count
	}
	lowest := math.Inf(1)
	for _, v := range b.versions {
		own := stats[v.ID]
		if IsPrimitive(v.Skill.Name) || own.Count < MinSelections {
			continue
		}
		bound := own.Shrunk(stats[v.Parent]) + math.Sqrt(2*math.Log(float64(total))/float64(own.Count))
		if bound < lowest {
			name, lowest = v.Skill.Name, bound
		}
	}
	if name == "" {
		return "", fault.New(fault.QuotaExceeded, "every skill of the bank is a primitive or too young to judge",
			"raise the bank's capacity, or remove a skill by hand")
	}
	return name, nil
}
