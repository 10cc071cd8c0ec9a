package evolve

import (
	"context"

	"cairn/internal/memskill/controller"
	"cairn/internal/memskill/random"
)

// explore tells how the choice of a live span is made: greedily, but for as many
// choices of 24 hours as the workspace lets the policy draw. A bank with no more
// skills than are chosen leaves no choice, and nothing to learn. Who explores holds
// a lock until the decision is kept, so no two take the last one.
func (s *Service) explore(ctx context.Context, tx Tx, decision string, k, candidates int) (controller.Choice, error) {
	how := controller.Choice{K: k, Greedy: true}
	chosen, err := tx.Settings(ctx)
	if err != nil || chosen.Memory.Learning.Frozen || chosen.Memory.Learning.ExplorePerDay == 0 || candidates <= k {
		return how, err
	}
	if err := tx.LockExploration(ctx); err != nil {
		return how, err
	}
	n, err := tx.Explored(ctx)
	if err != nil || n >= chosen.Memory.Learning.ExplorePerDay {
		return how, err
	}
	how.Greedy, how.Key = false, random.Key{Run: "live/" + decision}
	return how, nil
}
