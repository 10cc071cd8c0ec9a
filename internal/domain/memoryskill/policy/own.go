package policy

// Own is the mean score of the queries that each decision answers for, by its id:
// those that met the memories which came of it, or missed what it saw. Decisions
// that no scored query met, and lost ones, are not in it.
func (e Episode) Own() map[string]float64 {
	baseline, _ := e.Reward()
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, q := range e.Queries {
		if !q.Scored {
			continue
		}
		for _, id := range q.Behind(baseline) {
			sums[id] += q.Score
			counts[id]++
		}
	}
	for id, n := range counts {
		sums[id] /= n
	}
	for _, id := range e.Lost {
		delete(sums, id)
	}
	return sums
}
