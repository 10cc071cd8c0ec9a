package learning

import "context"

// Outcome is what somebody said of an answer, for a decision behind the memories
// that it was given from.
type Outcome struct {
	Decision string
	Op       string // of whoever said it: it counts once for each decision
	Run      int64  // that answered
	Source   string
	Score    float64 // 0–1
}

// LearningTx is what is known of how live decisions turned out.
type LearningTx interface {
	// PutOutcomes notes one outcome for some decisions; the first one of an
	// operation stays, and a decision that was erased has none.
	PutOutcomes(ctx context.Context, decisions []string, o Outcome) error
	// Outcomes are those of decisions, by operation and decision.
	Outcomes(ctx context.Context, decisions []string) ([]Outcome, error)
	// Learnable are sampled decisions with an outcome that no update has learnt
	// from, made on a version from oldest on; the oldest decision first.
	Learnable(ctx context.Context, bank int64, oldest, most int) ([]string, error)
	// Claim gives decisions to an update; one that another has is left alone.
	Claim(ctx context.Context, run int64, decisions []string) error
	// LockExploration makes who else would explore wait until the transaction ends.
	LockExploration(ctx context.Context) error
	// Explored counts the decisions of the last 24 hours that were sampled.
	Explored(ctx context.Context) (int, error)
	// Newcomers are the skills that versions up to number brought, the latest first;
	// what a version took over from the one before is not among them.
	Newcomers(ctx context.Context, bank int64, number, most int) ([]RecentSkills, error)
}
