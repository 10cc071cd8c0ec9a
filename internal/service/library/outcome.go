package library

import (
	"context"
	"fmt"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// Outcomes of uses.
const (
	Fail = "fail"
)

// Opinions are the outcomes for votes.
var Opinions = map[string]string{"up": skill.Pass, "down": Fail, "none": ""}

// outcomes are those of uses in a conversation that ended so.
var outcomes = map[transcript.Verdict]string{transcript.Success: skill.Pass, transcript.Failure: Fail}

// UseEffect is the effect of an outcome on a skill.
type UseEffect struct {
	Skill     string       `json:"skill"`
	Version   int          `json:"version" doc:"The version in force"`
	Status    skill.Status `json:"status"`
	Eta       float32      `json:"eta" doc:"Reliability, 0 to 1"`
	Withdrawn string       `json:"withdrawn,omitempty" doc:"Why the version that was used was withdrawn"`
	Canary    string       `json:"canary,omitempty" doc:"What the outcomes decide about an update that was shown in a part of the conversations, and why"`
}

// RecordUse counts a use of a skill, once per use ID. An outcome may withdraw the version in force, or
// decide about a canary.
func (l *Library) RecordUse(ctx context.Context, ws int64, u skill.Use) error {
	return l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		_, err := l.use(ctx, tx, u)
		return err
	})
}

// maxUses limits the uses and trials that one statement reads.
const maxUses = 1000

// State stores how a conversation ended, as a person states it; Unknown withdraws the statement. The
// skills that its turns have used pass or fail with it, and failing versions are withdrawn, in the same transaction.
func (l *Library) State(ctx context.Context, ws int64, conversation string, s transcript.Statement) (out []UseEffect,
	err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return err
		}
		uses, now, err := tx.SkillUses().PutStatement(ctx, conversation, s, maxUses)
		if err != nil {
			return err
		}
		if err := tx.Operations().Record(ctx, audit.ConversationOutcome,
			fmt.Sprintf("conversation %s: %s", conversation, s.Outcome)); err != nil {
			return err
		}
		out, err = l.decideAll(ctx, tx, uses, outcomes[now])
		return err
	})
	return out, err
}

// Vote records a person's opinion of the version in force: Pass, Fail, or "" for none any more.
func (l *Library) Vote(ctx context.Context, ws, id int64, voter, opinion string) (out UseEffect, err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return err
		}
		head, err := tx.Skills().SkillHead(ctx, id)
		if err != nil {
			return err
		}
		out, err = l.decide(ctx, tx, skill.Use{Skill: id, ID: fmt.Sprintf("vote/%s/%d", voter, head.Version),
			Version: head.Version, Outcome: opinion, Vote: true})
		return err
	})
	return out, err
}

// JudgeTurn records whether the reply of a turn was good. The skills that the turn has used pass or
// fail with it.
func (l *Library) JudgeTurn(ctx context.Context, ws int64, run, outcome string) error {
	return l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return err
		}
		uses, err := tx.SkillUses().UsesOfRun(ctx, run, maxUses)
		if err != nil {
			return err
		}
		_, err = l.decideAll(ctx, tx, uses, outcome)
		return err
	})
}

func (l *Library) decideAll(ctx context.Context, tx store.Tx, uses []skill.Use, outcome string) ([]UseEffect, error) {
	out := []UseEffect{}
	for _, u := range uses {
		u.Outcome = outcome
		effect, err := l.decide(ctx, tx, u)
		if err != nil {
			return nil, err
		}
		out = append(out, effect)
	}
	return out, nil
}

// decide sets the outcome of a use, or removes it.
func (l *Library) decide(ctx context.Context, tx store.Tx, u skill.Use) (UseEffect, error) {
	if u.Outcome != "" {
		return l.use(ctx, tx, u)
	}
	if err := tx.Skills().DecideUse(ctx, u); err != nil {
		return UseEffect{}, err
	}
	head, err := tx.Skills().SkillHead(ctx, u.Skill)
	return effectOf(head, ""), err
}

func effectOf(head skill.Head, withdrawn string) UseEffect {
	return UseEffect{Skill: head.Name, Version: head.Version, Status: head.Status, Eta: head.Eta, Withdrawn: withdrawn}
}

// use records a use. With its outcome, it decides about a canary and withdraws a version that fails too often.
func (l *Library) use(ctx context.Context, tx store.Tx, u skill.Use) (out UseEffect, err error) {
	if u.Outcome != "" { // before any row is locked, in the order of all changes
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return out, err
		}
	}
	if err := tx.Skills().Use(ctx, u); err != nil {
		return out, err
	}
	head, err := tx.Skills().SkillHead(ctx, u.Skill)
	if err != nil || u.Outcome == "" {
		return effectOf(head, ""), err
	}
	head, canary, err := l.decideCanary(ctx, tx, head)
	if err != nil {
		return out, err
	}
	withdrawn := ""
	if u.Outcome == Fail {
		head, withdrawn, err = l.withdrawFailing(ctx, tx, head)
	}
	out = effectOf(head, withdrawn)
	out.Canary = canary
	return out, err
}

// withdrawFailing withdraws the version in force if its trials fail: the latest version before it that
// is proven is restored, and the withdrawn one waits in the inbox. Without such a version, the skill
// becomes a draft. A pinned skill stays as it is, and a proposal to archive it waits.
func (l *Library) withdrawFailing(ctx context.Context, tx store.Tx, head skill.Head) (_ skill.Head, reason string,
	err error) {
	if head.Status != skill.Active && head.Status != skill.Stale {
		return head, "", nil
	}
	trials, err := tx.SkillUses().Trials(ctx, head.ID, maxUses)
	if err != nil {
		return head, "", err
	}
	if reason = review.Failing(trials, head.Version); reason == "" {
		return head, "", nil
	}
	if head.Pinned {
		return head, "", l.proposeArchive(ctx, tx, head, reason)
	}
	failing, err := tx.Skills().Version(ctx, head.ID, head.Version)
	if err != nil {
		return head, "", err
	}
	proven, err := provenBefore(ctx, tx, failing, trials)
	if err != nil {
		return head, "", err
	}
	if err := record(ctx, tx, audit.SkillWithdraw, head.ID, ": "+reason); err != nil {
		return head, "", err
	}
	if proven == nil {
		head, err = l.move(ctx, tx, head, act{}, skill.DraftStatus, skill.Active, skill.Stale)
		return head, reason, err
	}
	next := *proven
	next.ChangeSummary, next.Origin = fmt.Sprintf(
		"rolled back to version %d: %s",
		proven.Number,
		reason,
	), failing.Origin
	next.Op, next.Restores, next.Run, next.TaskKey = skill.OpRollback, proven.Number, "", ""
	if head, err = l.advance(ctx, tx, head, next); err != nil {
		return head, "", err
	}
	failing.Number, failing.Base, failing.Op = head.Version+1, head.Version, skill.OpUpdate
	failing.Findings = append(failing.Findings, failed(reason))
	_, err = tx.PendingSkills().
		PutPending(ctx, skill.Pending{Skill: head.ID, Base: head.Version, Version: failing, Op: skill.OpUpdate,
			Reason: reason, Origin: failing.Origin, Gist: l.gist(next, failing)})
	return head, reason, err
}

// failed is the finding about a version that failed in use.
func failed(reason string) approval.Finding {
	return approval.NewFinding(review.Outcome, approval.Review, "", "", reason)
}

// provenBefore returns the latest version before a failing one that is proven and has other content,
// or nil.
func provenBefore(ctx context.Context, tx store.Tx, failing skill.Version, trials []review.Trial) (*skill.Version,
	error) {
	seen := map[int]bool{}
	best := 0
	for _, t := range trials {
		if t.Version < failing.Number && !seen[t.Version] && review.Proven(trials, t.Version) {
			best = max(best, t.Version)
		}
		seen[t.Version] = true
	}
	for ; best > 0; best-- {
		if !seen[best] || !review.Proven(trials, best) {
			continue
		}
		v, err := tx.Skills().Version(ctx, failing.SkillID, best)
		if fault.CodeOf(err) == fault.NotFound { // pruned
			continue
		}
		if err != nil {
			return nil, err
		}
		if v.ContentSHA != failing.ContentSHA {
			return &v, nil
		}
	}
	return nil, nil
}

// proposeArchive proposes to archive a pinned skill, unless a change of it already waits.
func (l *Library) proposeArchive(ctx context.Context, tx store.Tx, head skill.Head, reason string) error {
	waiting, err := tx.PendingSkills().PendingList(ctx, maxUses)
	if err != nil {
		return err
	}
	for _, p := range waiting {
		if p.Skill == head.ID && p.Op == OpArchive && p.State == "pending" {
			return nil
		}
	}
	current, err := tx.Skills().Version(ctx, head.ID, head.Version)
	if err != nil {
		return err
	}
	_, err = tx.PendingSkills().PutPending(ctx, skill.Pending{Skill: head.ID, Base: head.Version, Version: current,
		Op:     OpArchive,
		Reason: "pinned, and " + reason, Origin: current.Origin, Gist: OpArchive + " " + head.Name})
	return err
}
