package library

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// Proposal is what waits for a person: a new skill, or a change of a skill.
type Proposal struct {
	Head     skill.Head
	Change   *skill.Pending     // nil for a new skill, which Head describes
	Base     skill.Version      // on which the change is based, if the head has moved since and it is kept
	Current  skill.Version      // the version in force, zero for a new skill
	Next     skill.Version      // the version to approve, zero for a removal
	Findings []approval.Finding // about Next
	SHA      string             // of Current and Next
	Conflict string             // why the change cannot be approved any more, or empty
	Canary   *CanaryState       // how the change does in a part of the conversations, nil if it is in none
}

// Removal reports whether the proposal archives or deletes the skill.
func (p Proposal) Removal() bool {
	return p.Change != nil && (p.Change.Op == OpDelete || p.Change.Op == OpArchive)
}

// ProposedDiff returns what a proposal changes in the version in force, as a unified diff of all files.
func (l *Library) ProposedDiff(p Proposal) string {
	return Unified(l.texts(p.Current), l.texts(p.Next), "current", "proposed")
}

// ThreeWay returns what others and what the proposal changed in the version that it is based on, as unified diffs. Both
// are empty unless the head has moved since.
func (l *Library) ThreeWay(p Proposal) (theirs, proposed string) {
	if p.Change == nil || p.Base.Number == 0 {
		return "", ""
	}
	base := l.texts(p.Base)
	return Unified(base, l.texts(p.Current), "base", "current"),
		Unified(base, l.texts(p.Change.Version), "base", "proposed")
}

// Proposals returns at most max new skills that wait and as many pending changes, the oldest changes first.
func (l *Library) Proposals(ctx context.Context, ws int64, max int) (out []Proposal, err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		heads, err := tx.Skills().Skills(ctx, skill.Listing{Statuses: waiting, Max: max})
		if err != nil {
			return err
		}
		for _, h := range heads {
			p, err := newSkill(ctx, tx, h)
			if err != nil {
				return err
			}
			out = append(out, p)
		}
		changes, err := tx.PendingSkills().PendingList(ctx, max)
		if err != nil {
			return err
		}
		for _, c := range changes {
			p, err := change(ctx, tx, c)
			if err != nil {
				return err
			}
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// waiting are the states of skills that wait for a person.
var waiting = []skill.Status{skill.Candidate, skill.DraftStatus}

// NewSkill returns the proposal of a skill that waits for a person.
func (l *Library) NewSkill(ctx context.Context, ws, id int64) (p Proposal, err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := tx.Skills().SkillHead(ctx, id)
		if err != nil {
			return err
		}
		if !slices.Contains(waiting, head.Status) {
			return notWaiting(head)
		}
		p, err = newSkill(ctx, tx, head)
		return err
	})
	return p, err
}

// PendingChange returns the proposal of a pending change.
func (l *Library) PendingChange(ctx context.Context, ws, id int64) (p Proposal, err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		c, err := tx.PendingSkills().Pending(ctx, id)
		if err != nil {
			return err
		}
		p, err = change(ctx, tx, c)
		return err
	})
	return p, err
}

func newSkill(ctx context.Context, tx store.Tx, head skill.Head) (Proposal, error) {
	v, err := tx.Skills().Version(ctx, head.ID, head.Version)
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Head: head, Next: v, Findings: review.Of(skill.Version{}, v)}
	if head.Status == skill.DraftStatus {
		trials, err := tx.SkillUses().Trials(ctx, head.ID, maxUses)
		if err != nil {
			return p, err
		}
		if reason := review.Failing(trials, head.Version); reason != "" {
			p.Findings = append(p.Findings, failed(reason))
		}
	}
	p.SHA = p.sum()
	return p, nil
}

// change returns the proposal of a change, joined with the head if that has changed since.
func change(ctx context.Context, tx store.Tx, c skill.Pending) (p Proposal, err error) {
	p.Change = &c
	if p.Head, err = tx.Skills().SkillHead(ctx, c.Skill); err != nil {
		return p, err
	}
	if p.Current, err = tx.Skills().Version(ctx, c.Skill, p.Head.Version); err != nil {
		return p, err
	}
	switch {
	case p.Removal():
		if p.Head.Version != c.Base {
			p.Conflict = moved(p.Head, c.Base).Error()
		}
		p.SHA = p.sum()
		return p, nil
	case p.Head.Version == c.Base:
		p.Next = c.Version
		if p.Canary, err = stateOf(ctx, tx, c); err != nil {
			return p, err
		}
	default:
		base, err := tx.Skills().Version(ctx, c.Skill, c.Base)
		if err == nil {
			p.Base = base
			p.Next, err = rebase(base, p.Current, c.Version)
		}
		if code := fault.CodeOf(err); code == fault.VersionConflict || code == fault.InvalidArgument ||
			code == fault.NotFound {
			p.Conflict, p.Next = err.Error(), c.Version
		} else if err != nil {
			return p, err
		}
	}
	p.Findings = review.Of(p.Current, p.Next)
	p.SHA = p.sum()
	return p, nil
}

// sum returns a hash of what a person sees of the proposal.
func (p Proposal) sum() string {
	op := "new"
	if p.Change != nil {
		op = fmt.Sprintf("%s %d", p.Change.Op, p.Change.AbsorbedInto)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %s\n%s\n%s\n%x\n%v", p.Head.ID, p.Head.Version, op, p.Next.Description, p.Next.Category,
		skill.ContentHash(p.Next.Document(), p.Next.Files), p.Next.Extra)
	return fmt.Sprintf("%x", h.Sum(nil))
}
