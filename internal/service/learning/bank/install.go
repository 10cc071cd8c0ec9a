package bank

import (
	"context"

	"cairn/internal/store"
)

// Install creates a bank with the content of a draft as its first version. A bank that exists is not
// changed. Without a policy, the draft gets an untrained one, whose weights are derived from the name of
// the bank.
func (s *Service) Install(ctx context.Context, ws int64, name string, d Draft) (out Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		row, err := tx.Banks().PutBank(ctx, name) // locks the row
		if err != nil {
			return err
		}
		if row.Head > 0 {
			out, err = s.ReadVersion(ctx, tx, row, row.Head)
			return err
		}
		if d.Policy == nil {
			if d.Policy, d.Optimizer, err = s.untrained(name); err != nil {
				return err
			}
		}
		d.Base = 0
		out, err = s.Advance(ctx, tx, row, d)
		return err
	})
	return out, err
}
