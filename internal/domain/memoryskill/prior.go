package memoryskill

import (
	"cmp"
	"slices"
)

// Prior returns the IDs of the skills of a bank in the order in which they are used while no policy
// is trained: insert, because nothing else adds memories; the skills that a designer or a person
// has added, with the fresh ones first; update and delete; the other skills of the seed; noop.
func Prior(b Bank, fresh []string) []string {
	rank := func(v Version) int {
		switch primitive := IsPrimitive(v.Skill.Name); {
		case primitive && v.Skill.Action == Insert:
			return 0
		case primitive && v.Skill.Action == Noop:
			return 6
		case primitive && v.Skill.Action == Update:
			return 3
		case primitive:
			return 4
		case v.Author == Seed:
			return 5
		case slices.Contains(fresh, v.ID):
			return 1
		}
		return 2
	}
	sorted := b.Versions() // by name
	slices.SortStableFunc(sorted, func(x, y Version) int { return cmp.Compare(rank(x), rank(y)) })
	return ids(sorted)
}

// Best returns the IDs of the k skills with the highest mean score, in the order of their prior.
// Means are shrunk towards the mean of all scored selections. Equal skills are taken in the order
// of their prior. stats is by version ID.
func Best(b Bank, stats map[string]Stats, fresh []string, k int) []string {
	var all Stats
	for _, v := range b.versions {
		if s := stats[v.ID]; s.Count > 0 {
			n := float64(all.Count + s.Count)
			all.Mean += (s.Mean - all.Mean) * float64(s.Count) / n
			all.Count += s.Count
		}
	}
	order := Prior(b, fresh)
	best := slices.Clone(order)
	slices.SortStableFunc(best, func(x, y string) int {
		return cmp.Compare(stats[y].Shrunk(all), stats[x].Shrunk(all))
	})
	best = best[:min(k, len(best))]
	return slices.DeleteFunc(order, func(id string) bool { return !slices.Contains(best, id) })
}

func ids(versions []Version) []string {
	out := make([]string, len(versions))
	for i, v := range versions {
		out[i] = v.ID
	}
	return out
}
