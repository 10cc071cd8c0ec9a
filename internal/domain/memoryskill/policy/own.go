package policy

// Own returns, by decision ID, the mean score of the queries that each decision is responsible for:
// those that used its memories, or missed its evidence. Lost decisions and decisions without a
// scored query are absent.
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
