package library

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// A canary is a pending update that some conversations see before it takes effect. It waits in the
// inbox like any other change. The outcomes of the conversations promote or reject it, unless a person
// does so first. After review.CanaryPeriod it only waits.

// canaryFor returns the canary of a skill and its change if the actor's conversation sees it, else 0.
func canaryFor(ctx context.Context, tx store.Tx, a agent.Actor, id int64) (v skill.Version, change int64, err error) {
	if a.Conversation == 0 || a.Origin.Autonomous() {
		return v, 0, nil
	}
	c, found, err := tx.PendingSkills().Canary(ctx, id)
	if err != nil || !found || !review.ShownIn(a.Conversation, c.ID) {
		return v, 0, err
	}
	return c.Version, c.ID, nil
}

// decideCanary promotes, rejects or stops the canary of a skill if the outcomes decide, and says so.
func (l *Library) decideCanary(ctx context.Context, tx store.Tx, head skill.Head) (_ skill.Head, decision string,
	err error) {
	c, found, err := tx.PendingSkills().Canary(ctx, head.ID)
	if err != nil || !found {
		return head, "", err
	}
	trials, err := tx.PendingSkills().CanaryTrials(ctx, c, maxUses)
	if err != nil {
		return head, "", err
	}
	verdict, reason := trials.Verdict()
	if verdict == review.Undecided {
		return head, "", nil
	}
	decision = fmt.Sprintf("%s: %s", verdict, reason)
	act := audit.CanaryStop
	switch verdict {
	case review.Promoted:
		act = audit.ChangeApprove
		head, err = l.promote(ctx, tx, head, c)
	case review.Rejected:
		act = audit.ChangeReject
		err = tx.PendingSkills().Decide(ctx, c.ID, "rejected")
	default:
		err = tx.PendingSkills().EndCanary(ctx, c.ID)
	}
	if err != nil {
		return head, "", err
	}
	return head, decision, tx.Operations().Record(ctx, act, fmt.Sprintf("change %d: canary %s", c.ID, decision))
}

// promote puts a canary in force.
func (l *Library) promote(ctx context.Context, tx store.Tx, head skill.Head, c skill.Pending) (skill.Head, error) {
	head, err := l.advance(ctx, tx, head, c.Version)
	if err != nil {
		return head, err
	}
	if err := tx.PendingSkills().AdoptCanary(ctx, head.ID, c.ID, head.Version); err != nil {
		return head, err
	}
	return head, tx.PendingSkills().Decide(ctx, c.ID, "approved")
}

// CanaryState is how a canary does.
type CanaryState struct {
	Share  int       `json:"share" doc:"Percentage of the conversations that see the update"`
	Until  time.Time `json:"until" doc:"After that the update only waits for a decision"`
	Passed int       `json:"passed" doc:"Conversations that saw the update and succeeded"`
	Failed int       `json:"failed"`
	Better float64   `json:"better" doc:"Probability that the update succeeds more often than the version in force"`
}

// stateOf returns how a pending change does as a canary, nil if it is none.
func stateOf(ctx context.Context, tx store.Tx, c skill.Pending) (*CanaryState, error) {
	if !c.Canary {
		return nil, nil
	}
	trials, err := tx.PendingSkills().CanaryTrials(ctx, c, maxUses)
	if err != nil {
		return nil, err
	}
	passed := review.Passes(trials.Proposed)
	return &CanaryState{Share: review.CanaryShare, Until: c.CanaryUntil, Passed: passed,
		Failed: len(trials.Proposed) - passed, Better: trials.Better()}, nil
}
