package library

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
)

// Rollback makes a new version that says what an old one said. Base is the head
// that the caller has seen; 0 takes the one in force.
func (l *Library) Rollback(ctx context.Context, ws, id int64, to, base int) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx Tx, head skill.Head) (skill.Head, error) {
		if base != 0 && base != head.Version {
			return head, moved(head, base)
		}
		old, err := tx.Versions().Version(ctx, id, to)
		if err != nil {
			return head, err
		}
		current, err := tx.Versions().Version(ctx, id, head.Version)
		if err != nil {
			return head, err
		}
		if old.ContentSHA == current.ContentSHA && old.Category == current.Category &&
			slices.Equal(old.Extra, current.Extra) {
			return head, nil // it says that already
		}
		next := old
		next.ChangeSummary, next.Origin = fmt.Sprintf("rolled back to version %d", to), "user"
		next.Op, next.Restores = skill.OpRollback, to
		next.Run, next.TaskKey = 0, ""
		return l.advance(ctx, tx, head, next)
	})
}

// Archive takes a skill out of use; it keeps its name and its history.
func (l *Library) Archive(ctx context.Context, ws, id int64) (skill.Head, error) {
	return l.setStatus(ctx, ws, id, skill.Archived, skill.Active, skill.Candidate, skill.Stale, skill.DraftStatus,
		skill.Quarantined)
}

// Restore puts an archived or quarantined skill back into use.
func (l *Library) Restore(ctx context.Context, ws, id int64) (skill.Head, error) {
	return l.setStatus(ctx, ws, id, skill.Active, skill.Archived, skill.Stale, skill.Quarantined)
}

// RestoreNamed is Restore of a skill by its number or name; it also takes a
// delete back.
func (l *Library) RestoreNamed(ctx context.Context, ws int64, ref string) (head skill.Head, err error) {
	id, _ := strconv.ParseInt(ref, 10, 64) // what is no number is a name
	err = l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) error {
		head, err = Head(ctx, tx, id, ref)
		return err
	})
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return l.undelete(ctx, ws, id, ref)
	case err != nil:
		return head, err
	}
	return l.Restore(ctx, ws, head.ID)
}

// Approve makes a candidate or a draft active.
func (l *Library) Approve(ctx context.Context, ws, id int64) (skill.Head, error) {
	return l.setStatus(ctx, ws, id, skill.Active, skill.Candidate, skill.DraftStatus)
}

// Reject archives a candidate or a draft.
func (l *Library) Reject(ctx context.Context, ws, id int64) (skill.Head, error) {
	return l.setStatus(ctx, ws, id, skill.Archived, skill.Candidate, skill.DraftStatus)
}

// Pin freezes a skill against every change that no person makes.
func (l *Library) Pin(ctx context.Context, ws, id int64, pinned bool) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx Tx, head skill.Head) (skill.Head, error) {
		head.Pinned = pinned
		return head, tx.States().SetPinned(ctx, id, pinned)
	})
}

// Manage gives a skill to the autonomous writers, or takes it from them.
func (l *Library) Manage(ctx context.Context, ws, id int64, managed bool) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx Tx, head skill.Head) (skill.Head, error) {
		head.Managed = managed
		return head, tx.States().SetManaged(ctx, id, managed)
	})
}

// Trust says that a person has read a skill into which untrusted text went.
func (l *Library) Trust(ctx context.Context, ws, id int64) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx Tx, head skill.Head) (skill.Head, error) {
		head.Tainted = false
		return head, tx.States().SetTainted(ctx, id, false)
	})
}

// setStatus moves a skill between states; being there already is success.
func (l *Library) setStatus(ctx context.Context, ws, id int64, to skill.Status, from ...skill.Status) (skill.Head,
	error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx Tx, head skill.Head) (skill.Head, error) {
		if head.Status == to {
			return head, nil
		}
		for _, f := range from {
			if head.Status == f {
				was := head.Status
				head.Status = to
				if err := tx.States().SetStatus(ctx, id, was, to); err != nil {
					return head, err
				}
				return head, withdraw(ctx, tx, was, to)
			}
		}
		return head, fault.New(fault.VersionConflict, fmt.Sprintf("skill %q is %s", head.Name, head.Status),
			fmt.Sprintf("this is for skills that are %v", from))
	})
}

// withdraw takes a skill out of the indexes of running prompts, when it was in
// them: what a person took away, or what would attack its reader, does not wait
// for the next session.
func withdraw(ctx context.Context, tx Tx, was, to skill.Status) error {
	listed := func(s skill.Status) bool { return s == skill.Active || s == skill.Stale }
	if !listed(was) || listed(to) {
		return nil
	}
	_, err := tx.Deleted().RevokeSessions(ctx)
	return err
}

// change runs fn on a head that stands still.
func (l *Library) change(ctx context.Context, ws, id int64,
	fn func(context.Context, Tx, skill.Head) (skill.Head, error)) (head skill.Head, err error) {
	err = l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) error {
		if err := tx.Versions().LockSkills(ctx); err != nil {
			return err
		}
		if head, err = tx.Skills().SkillHead(ctx, id); err != nil {
			return err
		}
		head, err = fn(ctx, tx, head)
		return err
	})
	return head, err
}

// advance commits v as the version after head's. Its package is published: it
// was uploaded before.
func (l *Library) advance(ctx context.Context, tx Tx, head skill.Head, v skill.Version) (skill.Head, error) {
	text := v.SearchText()
	return l.advanceWith(ctx, tx, head, v, text, l.embed(ctx, text))
}

// advanceWith is advance with what search will know of the version.
func (l *Library) advanceWith(ctx context.Context, tx Tx, head skill.Head, v skill.Version, text string,
	vector []float32) (skill.Head, error) {
	if err := tx.Packages().PublishPackage(ctx, v.PackageSHA); err != nil {
		return head, err
	}
	number, err := tx.Versions().AdvanceSkill(ctx, head.ID, head.Version, v,
		search.NewDoc(search.KindSkill, head.ID, string(head.Status), text), vector, l.Space)
	if err != nil {
		return head, err
	}
	head.Version, head.Description, head.Category = number, v.Description, v.Category
	return head, tx.Versions().PruneVersions(ctx, head.ID, l.KeepVersions)
}

func moved(head skill.Head, base int) error {
	return fault.New(fault.VersionConflict,
		fmt.Sprintf("skill %q is at version %d, not %d", head.Name, head.Version, base),
		"look at the version in force, then decide again").
		With("current_version", head.Version)
}
