package bank

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

// SharedWorkspace is the name of the workspace whose banks others may follow.
const SharedWorkspace = "shared"

// FollowRequest asks to base a bank on one of the shared workspace.
type FollowRequest struct {
	Workspace int64
	Bank      string // empty is the default one; it is made when it is not there
	Shared    int64  // number of the shared workspace
	From      string // bank there, empty is the default one
}

// Follow makes a version of a bank that is the shared bank in force with the
// workspace's own skills laid over it. It only reads there: nothing of the
// workspace goes into the shared bank. A policy that has not learnt anything gives
// way to the shared one, which belongs to these skills; one that has stays. Without
// news it changes nothing.
func (s *Service) Follow(ctx context.Context, r FollowRequest) (out Head, err error) {
	name, from := OrDefault(r.Bank), OrDefault(r.From)
	if r.Workspace == r.Shared {
		return out, fault.New(fault.InvalidArgument, "the shared workspace cannot follow itself",
			"name the workspace that is to follow it: -w")
	}
	shared, ever, err := s.readShared(ctx, r.Shared, from)
	if err != nil {
		return out, err
	}
	if err := s.ensure(ctx, r.Workspace, name); err != nil {
		return out, err
	}
	err = s.write(ctx, r.Workspace, name, "cairn bank", func(ctx context.Context, tx Tx, now Head) error {
		after, err := now.Bank.Over(shared.Bank, func(id string) bool { return ever[id] })
		if err != nil {
			return err
		}
		d := Draft{Base: now.Head, Action: ActionImport, Bank: after, Policy: now.Policy, Optimiser: now.Optimiser,
			Fresh:  memoryskill.Fresh(memoryskill.Differences(now.Bank, after), false),
			Reason: fmt.Sprintf("follows the shared bank %s, version %d", from, shared.Head)}
		if now.Optimiser.Steps() == 0 {
			d.Policy, d.Optimiser = shared.Policy, shared.Optimiser
		}
		if memoryskill.Bind(d.Bank, d.Policy, d.Optimiser) == now.Snapshot() {
			out = now
			return nil
		}
		out, err = s.Advance(ctx, tx, now.Row, d)
		return err
	})
	return out, err
}

// readShared reads a bank of the shared workspace, and the skills that any of its
// versions had.
func (s *Service) readShared(ctx context.Context, ws int64, name string) (head Head, ever map[string]bool, err error) {
	const allVersions = 1 << 30
	ever = map[string]bool{}
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		row, found, err := tx.Banks().BankNamed(ctx, name)
		if err != nil {
			return err
		}
		if !found || row.Head == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("the shared workspace has no bank %q", name),
				"make one: cairn -w "+SharedWorkspace+" bank import FOLDER")
		}
		if head, err = s.ReadVersion(ctx, tx, row, row.Head); err != nil {
			return err
		}
		versions, err := tx.Banks().BankVersions(ctx, row.ID, allVersions)
		for _, v := range versions {
			for _, id := range v.Members {
				ever[id] = true
			}
		}
		return err
	})
	return head, ever, err
}
