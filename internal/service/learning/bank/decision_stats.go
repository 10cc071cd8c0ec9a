package bank

import (
	"context"
	"maps"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/store"
)

// CountScore adds a score to the skills that the decisions chose, once per decision.
func CountScore(ctx context.Context, tx store.Tx, ids []string, score float64) error {
	decisions, found, err := byBank(ctx, tx, ids)
	query := policy.Query{Score: score, Scored: true, Retrieved: found}
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(decisions)) {
		one := policy.Episode{Decisions: decisions[id], Queries: []policy.Query{query}}
		err := UpdateStats(ctx, tx, id, func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
			return memoryskill.Scored(stats, []policy.Episode{one}, false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetScore takes back what CountScore added.
func forgetScore(ctx context.Context, tx store.Tx, ids []string, score float64) error {
	decisions, _, err := byBank(ctx, tx, ids)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(decisions)) {
		err := UpdateStats(ctx, tx, id, func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
			for _, d := range decisions[id] {
				for _, skill := range d.Chosen {
					stats[skill] = stats[skill].Forget(score)
				}
			}
			return stats
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// byBank reads decisions, each once. Erased ones are skipped.
func byBank(ctx context.Context, tx store.Tx, ids []string) (decisions map[int64][]policy.Decision, found []string,
	err error) {
	decisions = map[int64][]policy.Decision{}
	for _, id := range ids {
		if id == "" || slices.Contains(found, id) {
			continue
		}
		d, there, err := tx.Decisions().DecisionAt(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if there {
			found = append(found, d.ID)
			decisions[d.Bank] = append(decisions[d.Bank], d.Choice.Decision)
		}
	}
	return decisions, found, nil
}

// CountUse counts the choices of a build.
func CountUse(ctx context.Context, tx store.Tx, bankID int64, made []learning.Decision) error {
	var decisions []policy.Decision
	for _, d := range made {
		if d.Outcome != nil {
			decisions = append(decisions, d.Choice.Decision)
		}
	}
	if len(decisions) == 0 {
		return nil
	}
	return UpdateStats(ctx, tx, bankID, func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
		return memoryskill.Used(stats, decisions)
	})
}
