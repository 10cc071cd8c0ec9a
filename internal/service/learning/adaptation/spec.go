package adaptation

import (
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/runspec"
)

// Spec is what an update of a policy is pinned to. What it learns from, and the
// version that it begins on, are pinned when it takes the bank.
type Spec struct {
	runspec.Spec
	Keeping runspec.SpanOptions `json:"keeping"`
	Bank    string              `json:"bank"`
	BankID  int64               `json:"bank_id"`
	Recipe  string              `json:"recipe"`
	Score   string              `json:"score"`
}

// Bounds of an update.
const (
	// maxVersions is how many versions of the bank may have come since a decision
	// for an update to learn from it: its probabilities say little of a policy that
	// has moved on further.
	maxVersions = 2
	// MinDecisions is how many decisions make an update: fewer have hardly a mean to be measured
	// against.
	MinDecisions = 16
	// maxDecisions bounds one update, the oldest decisions first.
	maxDecisions = 1024
)

// Result is what an update came to.
type Result struct {
	Outcome   string         `json:"outcome"`
	Bank      string         `json:"bank"`
	Base      int            `json:"base,omitempty"`   // version that it began on
	Update    int            `json:"update,omitempty"` // its number, from which its state can be told
	Decisions int            `json:"decisions"`        // that it has learnt from
	Policy    string         `json:"policy,omitempty"`
	Shadow    Shadow         `json:"shadow"`
	Report    *policy.Report `json:"report,omitempty"`
	Note      string         `json:"note,omitempty"`
}

// How an update ended, beside what a round has in common with it.
const (
	NothingNew = "nothing_new" // no outcome was left to learn from
	Frozen     = "frozen"      // the workspace wants nothing to change by itself
)

// Shadow compares a new policy with the one in force, without a live choice by it.
type Shadow struct {
	// share of the decisions for which both choose the same skills
	Alike      float64              `json:"alike"`
	Comparison *designer.Comparison `json:"comparison,omitempty"` // on held-out conversations, where there are any
}
