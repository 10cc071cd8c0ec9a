package library

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/skill"
)

// PendingList lists the changes that wait for approval.
func (l *Library) PendingList(ctx context.Context, ws int64, max int) (out []Pending, err error) {
	err = l.Store.WithLibrary(ctx, ws, func(tx Tx) error {
		out, err = tx.PendingList(ctx, max)
		return err
	})
	return out, err
}

// ApproveChange does what a pending change proposes, under the origin that
// proposed it. The head must be the one that the change was made on; when it is
// not, the change has failed, and is to be made anew.
func (l *Library) ApproveChange(ctx context.Context, ws, pending int64) (head skill.Head, err error) {
	var conflict error
	err = l.Store.WithLibrary(ctx, ws, func(tx Tx) error {
		if err := tx.LockSkills(ctx); err != nil {
			return err
		}
		p, err := tx.Pending(ctx, pending)
		if err != nil {
			return err
		}
		if head, err = tx.SkillHead(ctx, p.Skill); err != nil {
			return err
		}
		if head.Version != p.Base {
			conflict = moved(head, p.Base)
			return tx.Decide(ctx, pending, "failed")
		}
		if head, err = l.carryOut(ctx, tx, head, p); err != nil {
			return err
		}
		return tx.Decide(ctx, pending, "approved")
	})
	if err == nil {
		err = conflict
	}
	return head, err
}

// carryOut does what a pending change proposes.
func (l *Library) carryOut(ctx context.Context, tx Tx, head skill.Head, p Pending) (skill.Head, error) {
	switch p.Op {
	case OpDelete:
		_, err := tx.DeleteSkill(ctx, head.ID, p.AbsorbedInto, undoWindow)
		return head, err
	case OpArchive:
		return shelve(ctx, tx, head, p.AbsorbedInto)
	}
	return l.advance(ctx, tx, head, p.Version)
}

// RejectChange drops a pending change.
func (l *Library) RejectChange(ctx context.Context, ws, pending int64) error {
	return l.Store.WithLibrary(ctx, ws, func(tx Tx) error {
		if _, err := tx.Pending(ctx, pending); err != nil {
			return err
		}
		return tx.Decide(ctx, pending, "rejected")
	})
}

// gist is a change in one line: "patch deploy-web +3/−1 lines".
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
