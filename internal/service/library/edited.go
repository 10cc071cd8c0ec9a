package library

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// EditedText is the text that a person wrote in place of a proposed one.
type EditedText struct {
	Description string
	Body        string
}

// Edited returns the proposal with the text of a person: its findings are those of that text. The SHA stays that of
// the proposal. Files of a change that conflicts with the version in force are those of the version in force.
func (l *Library) Edited(p Proposal, text EditedText) (Proposal, error) {
	if p.Removal() {
		return p, fault.New(fault.InvalidArgument, "a removal has no text", "approve or reject it")
	}
	v := p.Next
	if p.Conflict != "" {
		v.Files, v.Extra = p.Current.Files, p.Current.Extra
	}
	if slices.Equal(v.Extra, p.Current.Extra) {
		v.PackageKey = p.Current.PackageKey // it has these files
	}
	v.Description = strings.Join(strings.Fields(text.Description), " ")
	v.Body = strings.TrimSpace(strings.ReplaceAll(text.Body, "\r\n", "\n")) + "\n"
	v.Lang, v.Origin, v.ChangeSummary = lang.Detect(v.Body), string(agent.OriginUser), "edited before the approval"
	v.Op, v.Run, v.TaskKey, v.Tainted = skill.OpUpdate, "", "", false
	v.Model, v.PromptSHA, v.Degraded = "", "", nil
	v.Quality, v.Findings, v.Violations, v.Restores = nil, nil, nil, 0
	if err := v.Document().Check(); err != nil {
		return p, err
	}
	v.Risk = riskOfEdited(v)
	v.SkillID, v.Number, v.Base = p.Head.ID, p.Head.Version+1, p.Head.Version
	v.ContentSHA = skill.ContentHash(v.Document(), v.Files)
	p.Next, p.Findings = v, review.Changes(p.Current, v)
	return p, nil
}

// riskOfEdited scans the texts of an edited version. Findings in files that no text shows stay.
func riskOfEdited(v skill.Version) []string {
	out := guard.CheckSkill(review.Texts(v)).Risk
	for _, line := range v.Risk {
		if slices.ContainsFunc(v.Extra, func(e skill.Extra) bool {
			return strings.Contains(line, " in "+e.Path+", line ")
		}) {
			out = append(out, line)
		}
	}
	return out
}

// ApproveEdited approves a new skill with the text of a person: that text becomes a version with the origin user. The
// decision is about the findings of that text.
func (l *Library) ApproveEdited(ctx context.Context, ws, id int64, text EditedText, d approval.Decision) (skill.Head,
	error) {
	return l.approveEdited(ctx, ws, text, d,
		func(ctx context.Context, tx store.Tx) (Proposal, error) {
			head, err := tx.Skills().SkillHead(ctx, id)
			if err != nil {
				return Proposal{}, err
			}
			if !slices.Contains(waiting, head.Status) {
				return Proposal{}, notWaiting(head)
			}
			return newSkill(ctx, tx, head)
		},
		func(ctx context.Context, tx store.Tx, head skill.Head) (skill.Head, error) {
			return l.move(ctx, tx, head, act{audit.SkillApprove, ", edited" + d.Note()}, skill.Active, waiting...)
		})
}

// ApproveChangeEdited is ApproveEdited for a pending change.
func (l *Library) ApproveChangeEdited(ctx context.Context, ws, pending int64, text EditedText,
	d approval.Decision) (skill.Head, error) {
	return l.approveEdited(ctx, ws, text, d,
		func(ctx context.Context, tx store.Tx) (Proposal, error) {
			c, err := tx.PendingSkills().Pending(ctx, pending)
			if err != nil {
				return Proposal{}, err
			}
			return change(ctx, tx, c)
		},
		func(ctx context.Context, tx store.Tx, head skill.Head) (skill.Head, error) {
			err := tx.Operations().Record(ctx, audit.ChangeApprove,
				fmt.Sprintf("change %d, edited%s", pending, d.Note()))
			if err != nil {
				return head, err
			}
			return head, tx.PendingSkills().Decide(ctx, pending, "approved")
		})
}

// approveEdited uploads the package of an edited proposal, and commits it if the proposal is still the same.
func (l *Library) approveEdited(ctx context.Context, ws int64, text EditedText, d approval.Decision,
	read func(context.Context, store.Tx) (Proposal, error),
	finish func(context.Context, store.Tx, skill.Head) (skill.Head, error)) (head skill.Head, err error) {
	var p Proposal
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		p, err = read(ctx, tx)
		return err
	})
	if err != nil {
		return head, err
	}
	if p, err = l.Edited(p, text); err != nil {
		return head, err
	}
	if err := d.Check(p.SHA, p.Findings); err != nil {
		return head, err
	}
	v := p.Next
	if err := l.pack(ctx, ws, &v, v.PackageKey); err != nil {
		return head, err
	}
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return err
		}
		now, err := read(ctx, tx)
		if err != nil {
			return err
		}
		if now.SHA != p.SHA {
			return fault.New(fault.VersionConflict, "the item has changed since it was shown",
				"show it again, then decide").With("sha", now.SHA)
		}
		if head, err = l.advance(ctx, tx, now.Head, v); err != nil {
			return err
		}
		head, err = finish(ctx, tx, head)
		return err
	})
	return head, err
}

func notWaiting(head skill.Head) error {
	return fault.New(fault.NotFound, fmt.Sprintf("skill %q does not wait for approval: it is %s", head.Name,
		head.Status), "list what waits with `cairn inbox`")
}
