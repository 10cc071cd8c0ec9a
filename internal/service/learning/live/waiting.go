package live

import (
	"context"
	"fmt"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/store"
)

// Waiting lists the updates that pass the gate with the votes of too few voters, and wait for the
// owner of the workspace: at most one of each bank.
func (s *Adaptation) Waiting(ctx context.Context, ws int64) (out []approval.Learned, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out = nil
		banks, err := tx.Banks().Banks(ctx)
		if err != nil {
			return err
		}
		for _, b := range banks {
			row, found, err := tx.Banks().BankNamed(ctx, b.Name)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			u, open, err := tx.Updates().OpenUpdate(ctx, row.ID)
			if err != nil {
				return err
			}
			if !open || u.State != learning.OnCanary || u.Base != row.Head {
				continue
			}
			if u.Canary, _, err = s.measure(ctx, tx, row.ID, u); err != nil {
				return err
			}
			if waits(u.Canary) {
				out = append(out, u.Learned(row))
			}
		}
		return nil
	})
	return out, err
}

// Approve promotes an update that waits. It returns the new version of the bank.
func (s *Adaptation) Approve(ctx context.Context, ws int64, l approval.Learned) (version int, err error) {
	head, err := s.Promote(ctx, ws, l.Bank, l.Number)
	return head.Head, err
}

// Reject drops an update that waits.
func (s *Adaptation) Reject(ctx context.Context, ws int64, l approval.Learned) error {
	return s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		u, found, err := tx.Updates().UpdateAt(ctx, l.BankID, l.Number)
		if err != nil {
			return err
		}
		gone := fault.New(fault.VersionConflict, fmt.Sprintf("update %d of bank %q no longer waits", l.Number, l.Bank),
			"list the updates with `cairn bank updates`")
		if !found || u.State != learning.OnCanary {
			return gone
		}
		if u.Canary, _, err = s.measure(ctx, tx, l.BankID, u); err != nil {
			return err
		}
		u.State, u.Note = Dropped, "rejected by the owner"
		moved, err := s.drop(ctx, tx, l.BankID, learning.OnCanary, u)
		if err != nil {
			return err
		}
		if !moved { // an outcome has decided it meanwhile
			return gone
		}
		return tx.Operations().Record(ctx, audit.BankReject, fmt.Sprintf("update %d of bank %d", l.Number, l.BankID))
	})
}
