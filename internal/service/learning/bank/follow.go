package bank

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/store"
)

// SharedWorkspace is the name of the workspace whose banks other workspaces can follow.
const SharedWorkspace = "shared"

// FollowRequest is a request to base a bank on a bank of the shared workspace.
type FollowRequest struct {
	Workspace int64
	Bank      string // empty means Default; created if it does not exist
	Shared    int64  // ID of the shared workspace
	From      string // bank in the shared workspace; empty means Default
}

// Follow creates a version of a bank from the active shared bank and the workspace's own skills,
// which take precedence. The shared bank does not change. A policy that has not learned is replaced
// with the shared one. If the shared bank has no changes, Follow does nothing.
func (s *Service) Follow(ctx context.Context, r FollowRequest) (out Head, err error) {
	name, from := OrDefault(r.Bank), OrDefault(r.From)
	if r.Workspace == r.Shared {
		return out, fault.New(fault.InvalidArgument, "the shared workspace cannot follow itself",
			"select another workspace, for example -w myteam")
	}
	shared, ever, err := s.readShared(ctx, r.Shared, from)
	if err != nil {
		return out, err
	}
	if err := s.ensure(ctx, r.Workspace, name); err != nil {
		return out, err
	}
	err = s.write(ctx, r.Workspace, name, "cairn bank", func(ctx context.Context, tx store.Tx, now Head) error {
		after, err := now.Bank.Over(shared.Bank, func(id string) bool { return ever[id] })
		if err != nil {
			return err
		}
		d := Draft{Base: now.Head, Action: ActionImport, Bank: after, Policy: now.Policy, Optimizer: now.Optimizer,
			Fresh:  memoryskill.Fresh(memoryskill.Differences(now.Bank, after), false),
			Reason: fmt.Sprintf("follows the shared bank %s, version %d", from, shared.Head)}
		if now.Optimizer.Steps() == 0 {
			d.Policy, d.Optimizer = shared.Policy, shared.Optimizer
		}
		if memoryskill.Bind(d.Bank, d.Policy, d.Optimizer) == now.Snapshot() {
			out = now
			return nil
		}
		out, err = s.Advance(ctx, tx, now.BankRow, d)
		return err
	})
	return out, err
}

// readShared reads a bank of the shared workspace, and the IDs of all skills of its versions.
func (s *Service) readShared(ctx context.Context, ws int64, name string) (head Head, ever map[string]bool, err error) {
	const allVersions = 1 << 30
	ever = map[string]bool{}
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		row, found, err := tx.Banks().BankNamed(ctx, name)
		if err != nil {
			return err
		}
		if !found || row.Head == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("the shared workspace has no bank %q", name),
				"import one: cairn -w "+SharedWorkspace+" bank import FOLDER")
		}
		if head, err = s.ReadVersion(ctx, tx, row, row.Head); err != nil {
			return err
		}
		versions, err := tx.Banks().BankVersions(ctx, row.ID, 0, allVersions)
		for _, v := range versions {
			for _, id := range v.Members {
				ever[id] = true
			}
		}
		return err
	})
	return head, ever, err
}
