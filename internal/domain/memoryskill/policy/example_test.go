package policy_test

import (
	"fmt"

	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
)

// A policy learns from two questions that dates must be inserted.
func ExampleUpdate() {
	vectors := map[string][]float64{"delete": {0, 1}, "insert": {1, 0}}
	var candidates []policy.Candidate
	for id, vector := range vectors {
		candidates = append(candidates, policy.Candidate{ID: id, Vector: vector})
	}
	dates, thanks := policy.State([]float64{.8, .6}, nil), policy.State([]float64{-.6, .8}, nil)
	weights, _ := policy.NewPolicy(policy.TowerShape(2, 16), keyedrand.Key{Run: "example"})
	optimizer := policy.Adam{}

	for iteration := range 30 {
		scorer, _ := weights.Scorer(candidates)
		var episode policy.Episode
		for span, state := range [][]float64{dates, thanks} {
			d, _ := scorer.Decide(state, policy.Choice{K: 1,
				Key: keyedrand.Key{Run: "example", Iteration: iteration, Span: span}})
			d.ID = fmt.Sprint("span ", span)
			score := 0.0
			if d.Chosen[0] == []string{"insert", "delete"}[span] {
				score = 1
			}
			episode.Decisions = append(episode.Decisions, d)
			episode.Queries = append(episode.Queries,
				policy.Query{Score: score, Scored: true, Retrieved: []string{d.ID}})
		}
		steps, _ := policy.DefaultCredit().Steps([]policy.Episode{episode})
		weights, optimizer, _, _ = policy.Update(weights, optimizer, steps, vectors, policy.DefaultPPO(),
			keyedrand.Key{Run: "example", Iteration: iteration})
	}

	scorer, _ := weights.Scorer(candidates)
	for _, state := range [][]float64{dates, thanks} {
		d, _ := scorer.Decide(state, policy.Choice{K: 1, Greedy: true})
		fmt.Println(d.Chosen)
	}
	// Output:
	// [insert]
	// [delete]
}
