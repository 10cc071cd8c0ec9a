package live

import (
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/bank"
)

// AdaptationSpec is the pinned configuration of a policy update. Its decisions and its base version are
// pinned when the run opens.
type AdaptationSpec struct {
	bank.RunSpec
	Keeping bank.SpanOptions `json:"keeping"`
	Bank    string           `json:"bank"`
	BankID  int64            `json:"bank_id"`
	Recipe  string           `json:"recipe"`
	Score   string           `json:"score"`
}

// Limits of an update.
const (
	// maxVersions is the maximum age of a decision, in versions of the bank. Older probabilities
	// say little about the current policy.
	maxVersions = 2
	// MinDecisions is the minimum number of decisions of an update. With fewer, its estimate cannot
	// reach the minimum of effective decisions.
	MinDecisions = 40
	// maxDecisions is the maximum number of decisions of an update, oldest first.
	maxDecisions = 1024

	// minAlike is the minimum share of the decisions for which an update chooses as the policy before
	// it. A policy that changes more at once is not tried on live builds.
	minAlike = 0.6
)

// AdaptationResult is the result of an update.
type AdaptationResult struct {
	Outcome   string          `json:"outcome"`
	Bank      string          `json:"bank"`
	Base      int             `json:"base,omitempty"`   // version on which it is based
	Update    int             `json:"update,omitempty"` // number of the update, for a look-up of its state
	Decisions int             `json:"decisions"`        // number of decisions learned from
	Policy    string          `json:"policy,omitempty"`
	Shadow    learning.Shadow `json:"shadow"`
	Report    *policy.Report  `json:"report,omitempty"`
	Note      string          `json:"note,omitempty"`
}

// Outcomes of an update, in addition to those of package trial.
const (
	NothingNew = "nothing_new" // no outcomes to learn from
	Frozen     = "frozen"      // the workspace or the bank does not allow automatic changes
	ShadowOnly = "shadow_only" // the policy changed too much to be tried on live builds
)
