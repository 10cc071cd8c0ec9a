package controller_test

import (
	"fmt"

	random "cairn/internal/domain/memoryskill/keyedrand"
	controller "cairn/internal/domain/memoryskill/policy"
)

// A policy learns from two questions that dates are to be inserted.
func ExampleUpdate() {
	vectors := map[string][]float64{"delete": {0, 1}, "insert": {1, 0}}
	var candidates []controller.Candidate
	for id, vector := range vectors {
		candidates = append(candidates, controller.Candidate{ID: id, Vector: vector})
	}
	dates, thanks := controller.State([]float64{.8, .6}, nil), controller.State([]float64{-.6, .8}, nil)
	policy, _ := controller.NewPolicy(controller.TowerShape(2, 16), random.Key{Run: "example"})
	optimiser := controller.Adam{}

	for iteration := range 30 {
		scorer, _ := policy.Scorer(candidates)
		var episode controller.Episode
		for span, state := range [][]float64{dates, thanks} {
			d, _ := scorer.Decide(state, controller.Choice{K: 1, Key: random.Key{Run: "example", Iteration: iteration, Span: span}})
			d.ID = fmt.Sprint("span ", span)
			score := 0.0
			if d.Chosen[0] == []string{"insert", "delete"}[span] {
				score = 1
			}
			episode.Decisions = append(episode.Decisions, d)
			episode.Queries = append(episode.Queries, controller.Query{Score: score, Scored: true, Retrieved: []string{d.ID}})
		}
		steps, _ := controller.DefaultCredit().Steps([]controller.Episode{episode})
		policy, optimiser, _, _ = controller.Update(policy, optimiser, steps, vectors, controller.DefaultPPO(), random.Key{Run: "example", Iteration: iteration})
	}

	scorer, _ := policy.Scorer(candidates)
	for _, state := range [][]float64{dates, thanks} {
		d, _ := scorer.Decide(state, controller.Choice{K: 1, Greedy: true})
		fmt.Println(d.Chosen)
	}
	// Output:
	// [insert]
	// [delete]
}
