package live

import (
	"context"
	"fmt"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Promote accepts an update that passes the gate with the votes of too few voters. It returns the
// active version of the bank. Promoting an update again changes nothing.
func (s *Adaptation) Promote(ctx context.Context, ws int64, name string, number int) (out bank.Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if out, err = s.ports.Banks.ReadHead(ctx, tx, name); err != nil {
			return err
		}
		u, found, err := tx.Updates().UpdateAt(ctx, out.ID, number)
		if err != nil {
			return err
		}
		if !found {
			return fault.New(fault.NotFound, fmt.Sprintf("update %d of bank %q not found", number, name),
				"list the updates with `cairn bank updates`")
		}
		if u.State == InForce {
			return nil
		}
		if err := out.CheckChangeable(); err != nil {
			return err
		}
		if err := s.accepts(ctx, tx, out.BankRow, &u); err != nil {
			return err
		}
		promoted, err := s.promote(ctx, tx, out.BankRow, u)
		if err != nil {
			return err
		}
		if !promoted {
			return fault.New(fault.Unavailable, fmt.Sprintf("bank %q is leased by another writer", name),
				"wait until the current learning run of the bank has ended: cairn runs list")
		}
		if out, err = s.ports.Banks.ReadHead(ctx, tx, name); err != nil {
			return err
		}
		return tx.Operations().Record(ctx, audit.BankPromote, fmt.Sprintf("update %d of bank %d", number, out.ID))
	})
	return out, err
}

// accepts measures an update and returns an error unless it may be promoted.
func (s *Adaptation) accepts(ctx context.Context, tx store.Tx, row learning.BankRow, u *learning.Update) (err error) {
	if u.State != learning.OnCanary {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("update %d is not on canary: %s", u.Number, u.State),
			"list the updates with `cairn bank updates`; one whose state is canary can be promoted")
	}
	if u.Base != row.Head {
		return fault.New(fault.VersionConflict, fmt.Sprintf("bank %q has a newer version %d; update %d is based on %d",
			row.Name, row.Head, u.Number, u.Base), "wait for the next update, which is based on the active version")
	}
	if u.Canary, _, err = s.measure(ctx, tx, row.ID, *u); err != nil || passes(u.Canary) {
		return err
	}
	return fault.New(fault.InvalidArgument, fmt.Sprintf("update %d does not pass the gate: %d and %d scored replies, "+
		"%d are needed on each side, and it must be better", u.Number, u.Canary.Candidate, u.Canary.Incumbent,
		minScores), "rate more answers with `cairn feedback good`, then run `cairn bank updates`")
}
