package decision

import (
	"context"
	"time"

	"cairn/internal/domain/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/runspec"
)

// Tx reads and writes the decisions of a workspace in one transaction.
type Tx interface {
	bank.Tx
	runspec.Tx
	Decisions() Repository
	Outcomes() OutcomeRepository
}

// Repository reads and writes decisions.
type Repository interface {
	// PutDecision stores the choice of a span; the first one is kept.
	PutDecision(ctx context.Context, d learning.Decision) error
	DecisionAt(ctx context.Context, id string) (learning.Decision, bool, error)
	// EndDecision stores the result of a span; the first one is kept.
	EndDecision(ctx context.Context, id string, o learning.SpanOutcome) error
	Decisions(ctx context.Context, run string) ([]learning.Decision, error)
	// BankDecisions returns the latest decisions of a bank, the latest first.
	BankDecisions(ctx context.Context, bank int64, before time.Time, id string, most int) ([]learning.Scored, error)
	// MemoryUses returns the memories in the prompts of a run, with the decisions behind them.
	MemoryUses(ctx context.Context, run string) ([]learning.MemoryUse, error)
}

// OutcomeRepository reads and writes the outcomes of live decisions.
type OutcomeRepository interface {
	// PutOutcomes stores one outcome for several decisions. The first outcome of an operation is
	// kept; erased decisions are skipped.
	PutOutcomes(ctx context.Context, decisions []string, o learning.Outcome) error
	// DropOutcomes deletes the outcomes of an operation.
	DropOutcomes(ctx context.Context, op string, decisions []string) error
	// Outcomes returns the outcomes of decisions, by operation and decision.
	Outcomes(ctx context.Context, decisions []string) ([]learning.Outcome, error)
	// Learnable returns sampled decisions with an outcome that no update has used, made with
	// version oldest or later; oldest decision first.
	Learnable(ctx context.Context, bank int64, oldest, most int) ([]string, error)
	// Claim assigns decisions to an update. Decisions of another update are skipped.
	Claim(ctx context.Context, run string, decisions []string) error
	// LockExploration blocks other explorations until the transaction ends.
	LockExploration(ctx context.Context) error
	// Explored returns the number of sampled decisions in the last 24 hours.
	Explored(ctx context.Context) (int, error)
	// RecentSkills returns the skills that versions up to number added or changed, latest first.
	// Skills taken over from the previous version are not included.
	RecentSkills(ctx context.Context, bank int64, number, most int) ([]learning.RecentSkills, error)
}
