package memoryskill

import (
	"math"

	"cairn/internal/domain/fault"
)

// MinSelections is the number of selections before a version can be evicted.
const MinSelections = 20

// Evict returns the name of the skill to remove from a full bank: the one with the lowest upper
// confidence bound of its reward, mean + √(2·ln N / n) (UCB1, Auer et al. 2002). N is the number of
// all selections in the bank. Of equal skills it is the first by name.
//
// Primitives and versions with fewer than MinSelections selections are never evicted. If no other
// skill exists, the error is fault.QuotaExceeded. stats is by version ID, including parents.
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
		return "", fault.New(
			fault.QuotaExceeded,
			"no skill of the bank can be evicted: all are primitives or have too few selections",
			"raise the capacity of the bank, or remove a skill",
		)
	}
	return name, nil
}
