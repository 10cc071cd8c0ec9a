package learning

import (
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/memoryskill/designer"
)

// TooFew is the reason why an update is not promoted.
func (o *OffPolicy) TooFew() string {
	n := 0.0
	if o != nil {
		n = o.Effective
	}
	return fmt.Sprintf("effective sample size %.1f, at least %d are needed: rate more answers", n, MinEffective)
}

// Limits of an update.
const (
	// MinEffective is the minimum effective sample size of the off-policy estimate of an update that
	// may be promoted.
	MinEffective = 30
)

// Shadow compares a new policy with the one before it, without live choices of the new one.
type Shadow struct {
	// Share of the decisions for which both choose the same skills.
	Alike      float64              `json:"alike"`
	OffPolicy  *OffPolicy           `json:"off_policy,omitempty"`
	Comparison *designer.Comparison `json:"comparison,omitempty"` // on held-out conversations, if any
}

// OffPolicy estimates both policies on the scored decisions of an update, from the probabilities
// with which these were drawn.
type OffPolicy struct {
	Candidate float64 `json:"candidate"` // estimated mean score of the new policy, 0–1
	Incumbent float64 `json:"incumbent"` // of the policy before
	Effective float64 `json:"effective"` // effective sample size of the estimate of the new policy
}

// States of an update.
const (
	OnCanary = "canary" // used by a share of live builds
)

// Update is a policy that has learned from live decisions.
type Update struct {
	Number    int        `json:"update"`
	Run       string     `json:"run"`
	Base      int        `json:"base"` // version of the bank on which it is based
	State     string     `json:"state"`
	Policy    string     `json:"policy"`
	Optimizer string     `json:"-"`
	Decisions int        `json:"decisions"` // number of decisions learned from
	Shadow    Shadow     `json:"shadow"`
	Canary    *Canary    `json:"canary,omitempty"`
	Note      string     `json:"note,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	CanaryAt  *time.Time `json:"canary_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// Canary compares a policy with the active one in live builds of the same period. Each score is a
// judgement of a reply.
type Canary struct {
	Candidate  int                  `json:"candidate"` // number of scores
	Incumbent  int                  `json:"incumbent"`
	Voters     int                  `json:"voters"`               // of the side with fewer voters
	Comparison *designer.Comparison `json:"comparison,omitempty"` // set if both sides have enough scores
}

// Learned returns an update in the form in which the owner decides on it.
func (u Update) Learned(row BankRow) approval.Learned {
	return approval.Learned{Bank: row.Name, BankID: row.ID, Number: u.Number, Base: u.Base, Run: u.Run, SHA: u.Policy,
		Summary: fmt.Sprintf("update %d of the policy of bank %s, learned from %d decisions", u.Number, row.Name,
			u.Decisions),
		Reason: fmt.Sprintf("better in live builds, with the votes of %d voters", u.Canary.Voters), Lines: u.lines(),
		CreatedAt: u.CreatedAt}
}

// lines describes the comparisons of an update.
func (u Update) lines() string {
	var out []string
	add := func(what string, c *designer.Comparison) {
		if c != nil {
			out = append(out, fmt.Sprintf("%s: %+.4f, at least %+.4f", what, c.Mean, c.Lower))
		}
	}
	add("rated replies of live builds", u.Canary.Comparison)
	out = append(out, fmt.Sprintf("  %d replies with the update, %d without it", u.Canary.Candidate,
		u.Canary.Incumbent))
	add("held-out conversations", u.Shadow.Comparison)
	out = append(out, fmt.Sprintf("same choice as before the update: %.0f %% of the decisions", 100*u.Shadow.Alike))
	if o := u.Shadow.OffPolicy; o != nil {
		out = append(out, fmt.Sprintf("estimate from logged choices: %.4f, before %.4f, effective sample size %.1f",
			o.Candidate, o.Incumbent, o.Effective))
	}
	return strings.Join(out, "\n") + "\n"
}
