package library

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// approveRounds limits how often a change is joined with a head that keeps changing.
const approveRounds = 5

// ApproveChange applies a pending change under the origin that proposed it. If the head has changed
// since, the change is joined with the new head. If both changed the same part, it returns VersionConflict, and the
// change stays. A blocking finding needs an override.
func (l *Library) ApproveChange(ctx context.Context, ws, pending int64, d approval.Decision) (head skill.Head,
	err error) {
	var joined *skill.Version // with the current head
	for range approveRounds {
		var p Proposal
		over := false
		err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
			if err := tx.Skills().LockSkills(ctx); err != nil {
				return err
			}
			c, err := tx.PendingSkills().Pending(ctx, pending)
			if err != nil {
				return err
			}
			if p, err = change(ctx, tx, c); err != nil {
				return err
			}
			head = p.Head
			if err := d.Check(p.SHA, p.Findings); err != nil {
				return err
			}
			if head.Version != c.Base {
				if joined == nil || joined.Base != head.Version {
					return nil
				}
				c.Version = *joined
			}
			over = true
			if head, err = l.carryOut(ctx, tx, head, c); err != nil {
				return err
			}
			if joined == nil && !p.Removal() {
				if err := tx.PendingSkills().AdoptCanary(ctx, head.ID, c.ID, head.Version); err != nil {
					return err
				}
			}
			if err := tx.Operations().Record(ctx, audit.ChangeApprove,
				fmt.Sprintf("change %d%s", pending, d.Note())); err != nil {
				return err
			}
			return tx.PendingSkills().Decide(ctx, pending, "approved")
		})
		if err != nil || over {
			return head, err
		}
		v, err := l.joined(ctx, ws, *p.Change, head)
		if err != nil {
			return head, err
		}
		joined = &v
	}
	return head, fault.New(fault.Unavailable, fmt.Sprintf("skill %q has too many concurrent changes", head.Name),
		"approve it again")
}

// joined returns a pending change rebased on the head. If both changed the same part, the change stays pending: a
// person rejects it or approves it with a text of their own.
func (l *Library) joined(ctx context.Context, ws int64, p skill.Pending, head skill.Head) (skill.Version, error) {
	if p.Op == OpDelete || p.Op == OpArchive { // the content to remove differs from what was reviewed
		return skill.Version{}, moved(head, p.Base)
	}
	return l.rebased(ctx, ws, p, head)
}

// carryOut applies a pending change.
func (l *Library) carryOut(ctx context.Context, tx store.Tx, head skill.Head, p skill.Pending) (skill.Head, error) {
	switch p.Op {
	case OpDelete:
		// No caller needs the end of the undo period.
		_, err := tx.DeletedSkills().DeleteSkill(ctx, head.ID, p.AbsorbedInto, 0)
		return head, err
	case OpArchive:
		return shelve(ctx, tx, head, p.AbsorbedInto)
	}
	return l.advance(ctx, tx, head, p.Version)
}

// RejectChange rejects a pending change.
func (l *Library) RejectChange(ctx context.Context, ws, pending int64) error {
	return l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.PendingSkills().Pending(ctx, pending); err != nil {
			return err
		}
		if err := tx.Operations().Record(ctx, audit.ChangeReject, fmt.Sprintf("change %d", pending)); err != nil {
			return err
		}
		return tx.PendingSkills().Decide(ctx, pending, "rejected")
	})
}

// gist summarizes a change in one line, for example "patch deploy-web +3/−1 lines".
func (l *Library) gist(from, to skill.Version) string {
	added, removed := 0, 0
	for line := range strings.SplitSeq(Unified(l.texts(from), l.texts(to), "a", "b"), "\n") {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return fmt.Sprintf("%s %s +%d/−%d lines", to.Op, to.Name, added, removed)
}
