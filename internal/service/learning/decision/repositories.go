package decision

import (
	"context"

	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/runspec"
)

// Tx is a workspace's decisions in one transaction.
type Tx interface {
	bank.Tx
	runspec.Tx
	Decisions() Repository
	Outcomes() OutcomeRepository
}

// Repository reads and writes decisions.
type Repository interface {
	// PutDecision keeps the choice of a span; the first one stays.
	PutDecision(ctx context.Context, d Decision) error
	DecisionAt(ctx context.Context, id string) (Decision, bool, error)
	// EndDecision keeps what became of a span; the first outcome stays.
	EndDecision(ctx context.Context, id string, o SpanOutcome) error
	Decisions(ctx context.Context, run int64) ([]Decision, error)
	// MemoryUses are the memories that a run was shown, with the decisions behind them.
	MemoryUses(ctx context.Context, run int64) ([]MemoryUse, error)
}

// OutcomeRepository reads and writes how live decisions turned out.
type OutcomeRepository interface {
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
	// RecentSkills are the skills that versions up to number brought, the latest first;
	// what a version took over from the one before is not among them.
	RecentSkills(ctx context.Context, bank int64, number, most int) ([]RecentSkills, error)
}
