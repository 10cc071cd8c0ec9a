package library

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// DeleteArgs are the arguments of Delete.
type DeleteArgs struct {
	Name            string `json:"name" jsonschema:"name of the skill"`
	ExpectedVersion int    `json:"expected_version,omitempty" jsonschema:"fail unless this is the current version"`
	AbsorbedInto    string `json:"absorbed_into,omitempty" jsonschema:"other skill that now has the content of this one"`
	Reason          string `json:"reason,omitempty" jsonschema:"reason in one sentence"`
}

// DeleteResult is the result of Delete.
type DeleteResult struct {
	Action    string     `json:"action" jsonschema:"deleted, archived or staged"`
	Name      string     `json:"name"`
	UndoUntil *time.Time `json:"undo_until,omitempty" jsonschema:"time until which a user can undo the deletion"`
	PendingID int64      `json:"pending_id,omitempty" jsonschema:"ID of the pending change"`
	Warnings  []string   `json:"warnings,omitempty" jsonschema:"scheduled tasks that still name the skill"`
}

// Delete deletes a skill. It can be restored during the undo period of the workspace, if there is
// one. Autonomous writers can only archive a skill that another one has absorbed.
func (l *Library) Delete(ctx context.Context, a agent.Actor, in DeleteArgs) (out DeleteResult, err error) {
	s, err := l.settings(ctx, a.Workspace)
	if err != nil {
		return out, err
	}
	if a.Origin.Autonomous() && in.AbsorbedInto == "" {
		return out, fault.New(fault.InvalidArgument,
			"absorbed_into is missing: autonomous runs can only archive skills that another skill has absorbed",
			"move the useful content to another skill, then name that skill in absorbed_into")
	}
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return err
		}
		return once(ctx, tx, a.Op, in, &out, func() (DeleteResult, error) { return l.remove(ctx, tx, a, s, in) })
	})
	return out, err
}

func (l *Library) remove(ctx context.Context, tx store.Tx, a agent.Actor, s Settings, in DeleteArgs) (out DeleteResult,
	err error) {
	f, err := readFacts(ctx, tx, a, in.Name)
	if err != nil {
		return out, err
	}
	if !f.found {
		return out, l.unknown(ctx, tx, in.Name)
	}
	if f.head.Pinned && a.Origin != agent.OriginUser {
		return out, fault.New(fault.Protected, fmt.Sprintf("skill %q is pinned", f.head.Name),
			"keep it; only a user can delete a pinned skill")
	}
	if a.Origin.Autonomous() && !f.head.Managed {
		return out, notManaged(f.head)
	}
	if err := permitted(a, f, in.ExpectedVersion); err != nil {
		return out, err
	}
	into, err := absorber(ctx, tx, f.head, in.AbsorbedInto)
	if err != nil {
		return out, err
	}
	if err := withinRates(ctx, tx, a, s); err != nil {
		return out, err
	}
	out = DeleteResult{Name: f.head.Name}
	if out.Warnings, err = stillNamed(ctx, tx, f.head.Name, in.AbsorbedInto); err != nil {
		return out, err
	}
	switch {
	case a.Origin != agent.OriginUser && (a.Tainted || s.Approval == ApproveAll):
		out.Action = Staged
		op := OpDelete
		if a.Origin.Autonomous() {
			op = OpArchive
		}
		out.PendingID, err = tx.PendingSkills().PutPending(ctx,
			skill.Pending{Skill: f.head.ID, Base: f.head.Version, Version: f.current, Op: op, Gist: op + " " +
				f.head.Name,
				Reason: in.Reason, Origin: string(a.Origin), AbsorbedInto: into})
	case a.Origin.Autonomous():
		out.Action = Shelved
		_, err = shelve(ctx, tx, f.head, into)
	default:
		out.Action = Removed
		var until time.Time
		if until, err = tx.DeletedSkills().DeleteSkill(ctx, f.head.ID, into, s.undo()); s.UndoDays > 0 {
			out.UndoUntil = &until
		}
		if err == nil && a.Origin == agent.OriginUser {
			err = withdraw(ctx, tx, f.head.Status, skill.Archived)
		}
	}
	return out, err
}

// stillNamed returns a warning for each scheduled task whose prompt names the skill. Prompts are
// written by users and are not changed automatically.
func stillNamed(ctx context.Context, tx store.Tx, name, into string) (warnings []string, err error) {
	tasks, err := tx.SkillUses().TasksNaming(ctx, name)
	for _, task := range tasks {
		w := fmt.Sprintf("the prompt of the scheduled task %q names %s: change it", task, name)
		if into != "" {
			w += " to " + into
		}
		warnings = append(warnings, w)
	}
	return warnings, err
}

// shelve archives a skill that another one has absorbed.
func shelve(ctx context.Context, tx store.Tx, head skill.Head, into int64) (skill.Head, error) {
	if err := tx.DeletedSkills().SetAbsorbed(ctx, head.ID, into); err != nil || head.Status == skill.Archived {
		return head, err
	}
	was := head.Status
	head.Status = skill.Archived
	return head, tx.Skills().SetStatus(ctx, head.ID, was, skill.Archived)
}

// absorber returns the ID of the skill that absorbs of, 0 if none is named.
func absorber(ctx context.Context, tx store.Tx, of skill.Head, name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	h, err := Head(ctx, tx, 0, name)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("absorbed_into: skill %q not found", name),
			"name an existing skill, or list them")
	case err != nil:
		return 0, err
	case h.ID == of.ID:
		return 0, fault.New(fault.InvalidArgument, "absorbed_into: a skill cannot absorb itself",
			"name the other skill")
	case h.Status != skill.Active && h.Status != skill.Stale:
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("absorbed_into: skill %q is %s", h.Name, h.Status),
			"name an active skill")
	}
	return h.ID, nil
}

// undelete restores a deleted skill, given by its ID or former name. It fails if another skill now
// has the name.
func (l *Library) undelete(ctx context.Context, ws, id int64, name string) (head skill.Head, err error) {
	s, err := l.settings(ctx, ws)
	if err != nil {
		return head, err
	}
	if s.UndoDays == 0 {
		return head, fault.New(fault.NotFound, "this workspace does not keep deleted skills",
			"keep skills deleted in the future with `cairn settings set limits.undo_days=7`")
	}
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return err
		}
		gone, err := tx.DeletedSkills().Deleted(ctx, id, skill.Canonical(name), s.undo())
		if err != nil {
			return err
		}
		if _, err := tx.Skills().SkillNamed(ctx, gone.Name); err == nil {
			return fault.New(fault.AlreadyExists, fmt.Sprintf("another skill has the name %q", gone.Name),
				"delete or archive that one first")
		} else if fault.CodeOf(err) != fault.NotFound {
			return err
		}
		if err := tx.DeletedSkills().Undelete(ctx, gone.ID, gone.Status); err != nil {
			return err
		}
		if err := record(ctx, tx, audit.SkillRestore, gone.ID, ""); err != nil {
			return err
		}
		head, err = tx.Skills().SkillHead(ctx, gone.ID)
		return err
	})
	return head, err
}
