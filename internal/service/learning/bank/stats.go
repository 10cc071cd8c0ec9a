package bank

import (
	"context"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/store"
)

// UpdateStats changes the statistics of a bank's skills. It locks the bank until the transaction
// ends.
func UpdateStats(ctx context.Context, tx store.Tx, bank int64,
	change func(map[string]memoryskill.Stats) map[string]memoryskill.Stats) error {
	row, err := tx.Banks().BankOf(ctx, bank)
	if err != nil {
		return err
	}
	if _, err := tx.Banks().PutBank(ctx, row.Name); err != nil { // locks it
		return err
	}
	stats, err := tx.Banks().SkillStats(ctx, bank)
	if err != nil {
		return err
	}
	return tx.Banks().PutSkillStats(ctx, bank, change(stats))
}
