package library

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// DeleteArgs say which skill is not wanted any more.
type DeleteArgs struct {
	Name            string `json:"name" jsonschema:"the skill's name"`
	ExpectedVersion int    `json:"expected_version,omitempty" jsonschema:"refuse unless this version is in force"`
	AbsorbedInto    string `json:"absorbed_into,omitempty" jsonschema:"the other skill that says now what this one said"`
	Reason          string `json:"reason,omitempty" jsonschema:"why, in one sentence"`
}

// DeleteResult tells what became of a skill that is not wanted any more.
type DeleteResult struct {
	Action    string     `json:"action" jsonschema:"deleted, archived or staged"`
	Name      string     `json:"name"`
	UndoUntil *time.Time `json:"undo_until,omitempty" jsonschema:"until when a person can take the delete back"`
	PendingID int64      `json:"pending_id,omitempty" jsonschema:"the change that waits for approval"`
	Warnings  []string   `json:"warnings,omitempty" jsonschema:"what still names the skill"`
}

// Delete takes a skill away, for good after some days, at once where the workspace
// keeps nothing. Writers that nobody
// watches archive instead, and only what another skill has absorbed.
func (l *Library) Delete(ctx context.Context, a agent.Actor, in DeleteArgs) (out DeleteResult, err error) {
	s, err := l.settings(ctx, a.Workspace)
	if err != nil {
		return out, err
	}
	if a.Origin.Autonomous() && in.AbsorbedInto == "" {
		return out, fault.New(fault.InvalidArgument,
			"absorbed_into is missing: a run that nobody watches only archives what another skill has absorbed",
			"put what is worth keeping into another skill, then name that skill in absorbed_into")
	}
	err = l.Store.WithLibrary(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		if err := tx.Versions().LockSkills(ctx); err != nil {
			return err
		}
		return once(ctx, tx, a.Op, in, &out, func() (DeleteResult, error) { return l.remove(ctx, tx, a, s, in) })
	})
	return out, err
}

func (l *Library) remove(ctx context.Context, tx Tx, a agent.Actor, s Settings, in DeleteArgs) (out DeleteResult,
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
			"leave it; only a person deletes a pinned skill")
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
		out.PendingID, err = tx.Pending().PutPending(ctx,
			Pending{Skill: f.head.ID, Base: f.head.Version, Version: f.current, Op: op, Gist: op + " " + f.head.Name,
				Reason: in.Reason, Origin: string(a.Origin), AbsorbedInto: into})
	case a.Origin.Autonomous():
		out.Action = Shelved
		_, err = shelve(ctx, tx, f.head, into)
	default:
		out.Action = Removed
		var until time.Time
		if until, err = tx.Deleted().DeleteSkill(ctx, f.head.ID, into, s.undo()); s.UndoDays > 0 {
			out.UndoUntil = &until
		}
		if err == nil && a.Origin == agent.OriginUser {
			err = withdraw(ctx, tx, f.head.Status, skill.Archived)
		}
	}
	return out, err
}

// stillNamed tells of the scheduled tasks whose prompts name a skill. They are a
// person's words, so nobody rewrites them.
func stillNamed(ctx context.Context, tx Tx, name, into string) (warnings []string, err error) {
	tasks, err := tx.Uses().TasksNaming(ctx, name)
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
func shelve(ctx context.Context, tx Tx, head skill.Head, into int64) (skill.Head, error) {
	if err := tx.Deleted().SetAbsorbed(ctx, head.ID, into); err != nil || head.Status == skill.Archived {
		return head, err
	}
	was := head.Status
	head.Status = skill.Archived
	return head, tx.States().SetStatus(ctx, head.ID, was, skill.Archived)
}

// absorber is the id of the skill that took over, 0 when none is named.
func absorber(ctx context.Context, tx Tx, of skill.Head, name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	h, err := Head(ctx, tx, 0, name)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("absorbed_into: there is no skill %q", name),
			"name a skill that is there; skill_list shows them")
	case err != nil:
		return 0, err
	case h.ID == of.ID:
		return 0, fault.New(fault.InvalidArgument, "absorbed_into: a skill cannot absorb itself",
			"name the other skill")
	case h.Status != skill.Active && h.Status != skill.Stale:
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("absorbed_into: skill %q is %s", h.Name, h.Status),
			"name a skill that is in use")
	}
	return h.ID, nil
}

// undelete takes a delete back. It finds the skill by its number or by the name
// that it had; another skill may have that name by now.
func (l *Library) undelete(ctx context.Context, ws, id int64, name string) (head skill.Head, err error) {
	s, err := l.settings(ctx, ws)
	if err != nil {
		return head, err
	}
	if s.UndoDays == 0 {
		return head, fault.New(fault.NotFound, "this workspace keeps nothing that is deleted",
			"`cairn settings set limits.undo_days=7` keeps what is deleted from then on")
	}
	err = l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) error {
		if err := tx.Versions().LockSkills(ctx); err != nil {
			return err
		}
		gone, err := tx.Deleted().Deleted(ctx, id, skill.Canonical(name), s.undo())
		if err != nil {
			return err
		}
		if _, err := tx.Skills().SkillNamed(ctx, gone.Name); err == nil {
			return fault.New(fault.AlreadyExists, fmt.Sprintf("another skill is called %q by now", gone.Name),
				"delete or archive that one first")
		} else if fault.CodeOf(err) != fault.NotFound {
			return err
		}
		if err := tx.Deleted().Undelete(ctx, gone.ID, gone.Status); err != nil {
			return err
		}
		head, err = tx.Skills().SkillHead(ctx, gone.ID)
		return err
	})
	return head, err
}
