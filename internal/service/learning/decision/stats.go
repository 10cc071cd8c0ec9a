package decision

import (
	"context"
	"maps"
	"slices"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/bank"
)

// CountScore adds a score to the skills that the decisions chose, once per decision.
func CountScore(ctx context.Context, tx Tx, ids []string, score float64) error {
	decisions := map[int64][]policy.Decision{} // by bank
	query := policy.Query{Score: score, Scored: true}
	for _, id := range ids {
		if id == "" || slices.Contains(query.Retrieved, id) {
			continue
		}
		d, found, err := tx.Decisions().DecisionAt(ctx, id)
		if err != nil {
			return err
		}
		if found {
			query.Retrieved = append(query.Retrieved, d.ID)
			decisions[d.Bank] = append(decisions[d.Bank], d.Choice.Decision)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(decisions)) {
		one := policy.Episode{Decisions: decisions[id], Queries: []policy.Query{query}}
		err := bank.UpdateStats(ctx, tx, id, func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
			return memoryskill.Scored(stats, []policy.Episode{one}, false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// CountUse counts the choices of a build.
func CountUse(ctx context.Context, tx Tx, bankID int64, made []Decision) error {
	var decisions []policy.Decision
	for _, d := range made {
		if d.Outcome != nil {
			decisions = append(decisions, d.Choice.Decision)
		}
	}
	if len(decisions) == 0 {
		return nil
	}
	return bank.UpdateStats(ctx, tx, bankID, func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
		return memoryskill.Used(stats, decisions)
	})
}
