package library

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Rollback creates a new version with the content of an old one. Base is the head that the caller
// has seen; 0 means the current head.
func (l *Library) Rollback(ctx context.Context, ws, id int64, to, base int) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx store.Tx, head skill.Head) (skill.Head, error) {
		if base != 0 && base != head.Version {
			return head, moved(head, base)
		}
		old, err := tx.Skills().Version(ctx, id, to)
		if err != nil {
			return head, err
		}
		current, err := tx.Skills().Version(ctx, id, head.Version)
		if err != nil {
			return head, err
		}
		if old.ContentSHA == current.ContentSHA && old.Category == current.Category &&
			slices.Equal(old.Extra, current.Extra) {
			return head, nil // the head already has that content
		}
		next := old
		next.ChangeSummary, next.Origin = fmt.Sprintf("rolled back to version %d", to), "user"
		next.Op, next.Restores = skill.OpRollback, to
		next.Run, next.TaskKey = "", ""
		if err := record(ctx, tx, audit.SkillRollback, id, fmt.Sprintf(" to version %d", to)); err != nil {
			return head, err
		}
		return l.advance(ctx, tx, head, next)
	})
}

// Archive takes a skill out of use. The skill keeps its name and history.
func (l *Library) Archive(ctx context.Context, ws, id int64) (skill.Head, error) {
	var act audit.Action
	if audit.From(ctx).Console {
		act = audit.SkillChange
	}
	return l.setStatus(ctx, ws, id, act, skill.Archived, skill.Active, skill.Candidate, skill.Stale, skill.DraftStatus,
		skill.Quarantined)
}

// Restore reactivates an archived or quarantined skill.
func (l *Library) Restore(ctx context.Context, ws, id int64) (skill.Head, error) {
	return l.setStatus(ctx, ws, id, audit.SkillRestore, skill.Active, skill.Archived, skill.Stale, skill.Quarantined)
}

// RestoreNamed is Restore for a skill given by ID or name. It also undoes a deletion.
func (l *Library) RestoreNamed(ctx context.Context, ws int64, ref string) (head skill.Head, err error) {
	id, _ := strconv.ParseInt(ref, 10, 64) // 0 if ref is a name
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
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

// Approve activates a candidate or a draft. A blocking finding needs an override.
func (l *Library) Approve(ctx context.Context, ws, id int64, d approval.Decision) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx store.Tx, head skill.Head) (skill.Head, error) {
		if head.Status == skill.Candidate || head.Status == skill.DraftStatus {
			p, err := newSkill(ctx, tx, head)
			if err != nil {
				return head, err
			}
			if err := d.Check(p.SHA, p.Findings); err != nil {
				return head, err
			}
		}
		return l.move(ctx, tx, head, approved(d), skill.Active, skill.Candidate, skill.DraftStatus)
	})
}

// Reject archives a candidate or a draft.
func (l *Library) Reject(ctx context.Context, ws, id int64) (skill.Head, error) {
	return l.setStatus(ctx, ws, id, audit.SkillReject, skill.Archived, skill.Candidate, skill.DraftStatus)
}

// Pin sets whether only users may change the skill.
func (l *Library) Pin(ctx context.Context, ws, id int64, pinned bool) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx store.Tx, head skill.Head) (skill.Head, error) {
		head.Pinned = pinned
		if err := recordConsole(ctx, tx, id, fmt.Sprintf(", pinned %t", pinned)); err != nil {
			return head, err
		}
		return head, tx.Skills().SetPinned(ctx, id, pinned)
	})
}

// Manage sets whether autonomous writers may change the skill.
func (l *Library) Manage(ctx context.Context, ws, id int64, managed bool) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx store.Tx, head skill.Head) (skill.Head, error) {
		head.Managed = managed
		if err := recordConsole(ctx, tx, id, fmt.Sprintf(", managed %t", managed)); err != nil {
			return head, err
		}
		return head, tx.Skills().SetManaged(ctx, id, managed)
	})
}

// Trust removes the tainted mark of a skill that a user has read.
func (l *Library) Trust(ctx context.Context, ws, id int64) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx store.Tx, head skill.Head) (skill.Head, error) {
		if !head.Tainted {
			return head, nil
		}
		if err := record(ctx, tx, audit.SkillTrust, id, ""); err != nil {
			return head, err
		}
		head.Tainted = false
		return head, tx.Skills().SetTainted(ctx, id, false)
	})
}

// recordConsole records a change that a person makes in the web console.
func recordConsole(ctx context.Context, tx store.Tx, id int64, what string) error {
	if !audit.From(ctx).Console {
		return nil
	}
	return record(ctx, tx, audit.SkillChange, id, what)
}

// record records an act about a skill.
func record(ctx context.Context, tx store.Tx, act audit.Action, id int64, how string) error {
	return tx.Operations().Record(ctx, act, fmt.Sprintf("skill %d%s", id, how))
}

// act is an entry of the audit log; without an action there is none.
type act struct {
	action audit.Action
	note   string
}

func approved(d approval.Decision) act { return act{audit.SkillApprove, d.Note()} }

// setStatus changes the state of a skill. It succeeds if the skill already has the state.
func (l *Library) setStatus(ctx context.Context, ws, id int64, action audit.Action, to skill.Status,
	from ...skill.Status) (skill.Head, error) {
	return l.change(ctx, ws, id, func(ctx context.Context, tx store.Tx, head skill.Head) (skill.Head, error) {
		return l.move(ctx, tx, head, act{action: action}, to, from...)
	})
}

// move changes the state of a locked skill and records the act.
func (l *Library) move(ctx context.Context, tx store.Tx, head skill.Head, a act, to skill.Status,
	from ...skill.Status) (skill.Head, error) {
	if head.Status == to {
		return head, nil
	}
	if !slices.Contains(from, head.Status) {
		return head, fault.New(fault.VersionConflict, fmt.Sprintf("skill %q is %s", head.Name, head.Status),
			fmt.Sprintf("choose a skill with status %v", from))
	}
	was := head.Status
	head.Status = to
	if err := tx.Skills().SetStatus(ctx, head.ID, was, to); err != nil {
		return head, err
	}
	if a.action != "" {
		if err := record(ctx, tx, a.action, head.ID, a.note); err != nil {
			return head, err
		}
	}
	return head, withdraw(ctx, tx, was, to)
}

// withdraw removes a skill from the prompts of live sessions if they list it. A skill that a user
// has removed or that is dangerous does not stay until the next session.
func withdraw(ctx context.Context, tx store.Tx, was, to skill.Status) error {
	listed := func(s skill.Status) bool { return s == skill.Active || s == skill.Stale }
	if !listed(was) || listed(to) {
		return nil
	}
	_, err := tx.Sessions().RevokeSessions(ctx)
	return err
}

// change runs fn on a locked head.
func (l *Library) change(ctx context.Context, ws, id int64,
	fn func(context.Context, store.Tx, skill.Head) (skill.Head, error)) (head skill.Head, err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
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

// advance commits v as the version after head's and publishes its package, which is already uploaded.
// An outbox task embeds the version.
func (l *Library) advance(ctx context.Context, tx store.Tx, head skill.Head, v skill.Version) (skill.Head, error) {
	return l.advanceWith(ctx, tx, head, v, v.SearchText(), search.Vector{})
}

// advanceWith is advance with the search document of the version.
func (l *Library) advanceWith(ctx context.Context, tx store.Tx, head skill.Head, v skill.Version, text string,
	vector search.Vector) (skill.Head, error) {
	if err := tx.Packages().PublishPackage(ctx, v.PackageSHA); err != nil {
		return head, err
	}
	number, err := tx.Skills().AdvanceSkill(ctx, head.ID, head.Version, v,
		index.NewDoc(index.KindSkill, head.ID, string(head.Status), text), vector.Values, vector.Space)
	if err != nil {
		return head, err
	}
	head.Version, head.Description, head.Category = number, v.Description, v.Category
	return head, tx.Skills().PruneVersions(ctx, head.ID, l.KeepVersions)
}

func moved(head skill.Head, base int) error {
	return fault.New(fault.VersionConflict,
		fmt.Sprintf("skill %q is at version %d, not %d", head.Name, head.Version, base),
		"view the current version, then repeat the change").
		With("current_version", head.Version)
}
