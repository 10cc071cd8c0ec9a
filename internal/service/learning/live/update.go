package live

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/paging"
	"cairn/internal/store"
)

// States of an update.
const (
	InShadow = "shadow" // compared without live choices; final if EndedAt is set

	InForce = learning.Promoted // part of a version of the bank
	Dropped = "dropped"         // worse than the active policy, or undecided
)

// List returns a page of the updates of a bank's policy, the latest first. An update on canary includes
// its current comparison.
func (s *Adaptation) List(ctx context.Context, ws int64, name, cursor string, limit int) (out []learning.Update,
	next string,
	err error) {
	before, max, err := paging.Number(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, name)
		if err != nil {
			return err
		}
		if out, err = tx.Updates().Updates(ctx, head.ID, int(before), max); err != nil {
			return err
		}
		out, next = paging.Cut(out, limit, func(last learning.Update) string { return paging.ByNumber(last.Number) })
		for i := range out {
			if out[i].State == learning.OnCanary {
				if out[i].Canary, _, err = s.measure(ctx, tx, head.ID, out[i]); err != nil {
					return err
				}
				if waits(out[i].Canary) {
					out[i].Note = waiting(out[i].Canary)
				}
			}
		}
		return nil
	})
	return out, next, err
}

// drop ends an update, and drops its weights unless a version uses them. Moved is false if the update has
// left the state before.
func (s *Adaptation) drop(ctx context.Context, tx store.Tx, bankID int64, before string, u learning.Update) (moved bool,
	err error) {
	moved, err = tx.Updates().MoveUpdate(ctx, bankID, before, u)
	if err != nil || !moved {
		return false, err
	}
	return true, tx.Banks().DropBlobs(ctx, []string{u.Policy, u.Optimizer})
}
