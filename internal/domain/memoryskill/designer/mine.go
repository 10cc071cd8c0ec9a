package designer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

// Mining configures the selection of cases for a designer round.
type Mining struct {
	Clusters   int                    `json:"clusters"`    // maximum
	PerCluster int                    `json:"per_cluster"` // hardest cases of each cluster
	Adaptive   bool                   `json:"adaptive"`    // fewer clusters for few cases: ⌈√(n/2)⌉
	Difficulty memoryskill.Difficulty `json:"difficulty"`
	Seed       string                 `json:"seed"`
}

// DefaultMining selects up to 15 cases: the three hardest of each of five clusters.
func DefaultMining() Mining {
	return Mining{Clusters: 5, PerCluster: 3, Difficulty: memoryskill.Linear, Seed: "42"}
}

// Representative is a case that represents similar cases.
type Representative struct {
	Case
	Cluster    int
	Difficulty float64
}

// Mine selects the cases for a designer round: the hardest of each cluster, and then the next
// hardest until Clusters × PerCluster are selected. Cases with the same question are merged.
// vectors are those of the questions, by case key.
func Mine(cases []Case, vectors map[string][]float64, m Mining) ([]Representative, error) {
	if m.Clusters < 1 || m.PerCluster < 1 {
		return nil, fault.Newf(fault.InvalidArgument, "mining needs at least one cluster and one case in each")
	}
	all, points, err := prepare(cases, vectors, m.Difficulty)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	k := m.Clusters
	if m.Adaptive {
		k = min(k, int(math.Ceil(math.Sqrt(float64(len(all))/2))))
	}
	for i, cluster := range Cluster(points, k, m.Seed) {
		all[i].Cluster = cluster
	}
	slices.SortStableFunc(all, hardestFirst)
	taken, rest := make([][]Representative, k), []Representative(nil)
	for _, r := range all {
		if len(taken[r.Cluster]) < m.PerCluster {
			taken[r.Cluster] = append(taken[r.Cluster], r)
		} else {
			rest = append(rest, r)
		}
	}
	chosen := slices.Concat(taken...)
	missing := min(len(rest), max(0, m.Clusters*m.PerCluster-len(chosen)))
	return append(chosen, rest[:missing]...), nil
}

// prepare merges cases with the same question to the one with the most failures, ascending by key.
func prepare(cases []Case, vectors map[string][]float64, d memoryskill.Difficulty) (all []Representative,
	points [][]float64, err error) {
	byQuestion := map[string]Case{}
	sorted := slices.SortedFunc(slices.Values(cases), byKey)
	for _, c := range sorted {
		question := sameQuestion(c.Question)
		if other, there := byQuestion[question]; !there || c.Failures > other.Failures {
			byQuestion[question] = c
		}
	}
	for _, c := range sorted {
		if byQuestion[sameQuestion(c.Question)].Key() != c.Key() {
			continue
		}
		v, there := vectors[c.Key()]
		if !there || len(points) > 0 && len(v) != len(points[0]) {
			return nil, nil, fmt.Errorf("mine cases: no vector of the right length for case %q", c.Key())
		}
		all = append(all, Representative{Case: c, Difficulty: d.Of(c.Score, c.Failures)})
		points = append(points, v)
	}
	return all, points, nil
}

func hardestFirst(x, y Representative) int {
	return cmp.Or(cmp.Compare(y.Difficulty, x.Difficulty), byKey(x.Case, y.Case))
}
