package bank

import (
	"context"
	"fmt"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

// IsFrozen reports whether err is the error of CheckChangeable and Advance for a frozen bank.
func IsFrozen(err error) bool { return fault.CodeOf(err) == fault.Protected }

// Freeze makes a bank keep its active version until it is unfrozen: its choices become greedy, it is not trained, an
// update on canary is not used, and Advance refuses new versions. Runs that are open end without a new version.
// Decisions and outcomes are still stored. Freeze(…, false) ends this. If nothing changes, nothing is recorded.
func (s *Service) Freeze(ctx context.Context, ws int64, name string, frozen bool) (out Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if out, err = s.ReadHead(ctx, tx, name); err != nil {
			return err
		}
		changed, err := tx.Banks().FreezeBank(ctx, out.ID, frozen)
		if err != nil {
			return err
		}
		if out.BankRow, err = tx.Banks().BankOf(ctx, out.ID); err != nil || !changed {
			return err
		}
		action := audit.BankUnfreeze
		if frozen {
			action = audit.BankFreeze
		}
		return tx.Operations().Record(ctx, action, fmt.Sprintf("bank %d", out.ID))
	})
	return out, err
}
