package evolve

import (
	"context"
	"maps"
	"slices"

	"cairn/internal/memskill"
	"cairn/internal/memskill/controller"
)

// Met is a memory that a run was shown, with a decision behind it: one of those
// that wrote it until then. It is empty where no memory skill has.
type Met struct {
	Memory   string // its id
	Decision string
}

// judged counts what somebody says of an answer, 0 or 1, for the skills behind the
// memories that it was given from. Each decision counts once, however many of its
// memories were met.
func (s *Service) judged(ctx context.Context, tx Tx, answered int64, score float64) error {
	if answered == 0 {
		return nil
	}
	met, err := tx.Met(ctx, answered)
	if err != nil {
		return err
	}
	decisions := map[int64][]controller.Decision{} // by bank
	query := controller.Query{Score: score, Scored: true}
	for _, m := range met {
		if m.Decision == "" || slices.Contains(query.Retrieved, m.Decision) {
			continue
		}
		d, found, err := tx.DecisionAt(ctx, m.Decision)
		if err != nil {
			return err
		}
		if found {
			query.Retrieved = append(query.Retrieved, d.ID)
			decisions[d.Bank] = append(decisions[d.Bank], d.Choice.Decision)
		}
	}
	for _, bank := range slices.Sorted(maps.Keys(decisions)) {
		episode := controller.Episode{Decisions: decisions[bank], Queries: []controller.Query{query}}
		err := s.observe(ctx, tx, bank, func(stats map[string]memskill.Stats) map[string]memskill.Stats {
			return memskill.Scored(stats, []controller.Episode{episode}, false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// observe changes the statistics of a bank's skills. Who else would change them
// waits until the transaction has ended.
func (s *Service) observe(ctx context.Context, tx BankTx, bank int64, change func(map[string]memskill.Stats) map[string]memskill.Stats) error {
	row, err := tx.BankOf(ctx, bank)
	if err != nil {
		return err
	}
	if _, err := tx.PutBank(ctx, row.Name); err != nil { // locks it
		return err
	}
	stats, err := tx.SkillStats(ctx, bank)
	if err != nil {
		return err
	}
	return tx.PutSkillStats(ctx, bank, change(stats))
}

// used counts the choices of a build.
func (s *Service) used(ctx context.Context, tx Tx, bank int64, made []Decision) error {
	var decisions []controller.Decision
	for _, d := range made {
		if d.Outcome != nil {
			decisions = append(decisions, d.Choice.Decision)
		}
	}
	if len(decisions) == 0 {
		return nil
	}
	return s.observe(ctx, tx, bank, func(stats map[string]memskill.Stats) map[string]memskill.Stats {
		return memskill.Used(stats, decisions)
	})
}
