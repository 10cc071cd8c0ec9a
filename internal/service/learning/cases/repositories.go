package cases

import (
	"context"
	"time"

	"cairn/internal/domain/learning"
	"cairn/internal/service/learning/decision"
	"cairn/internal/service/learning/extraction"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx reads and writes the cases of a workspace in one transaction.
type Tx interface {
	decision.Tx
	extraction.Tx
	Cases() Repository
	Votes() VoteRepository
	Operations() OperationRepository
}

// Repository reads and writes cases.
type Repository interface {
	// PutCase creates the case of a question, or updates it.
	PutCase(ctx context.Context, c learning.Case) (learning.Case, error)
	CaseOf(ctx context.Context, id int64) (learning.Case, error)
	// SucceedCase halves the failures of a question's case. It returns the case, and how many
	// failures it took away; 0 if there is no case.
	SucceedCase(ctx context.Context, bank int64, key, op string) (id int64, taken int, err error)
	// RetractCase takes back the failures that a vote added to a case.
	RetractCase(ctx context.Context, id int64, failures int) error
	ExpireCases(ctx context.Context, bank int64, window time.Duration) (int64, error)
	OpenCases(ctx context.Context, bank int64, most int) ([]learning.Case, error)
	// KnownCases returns the questions of a bank with known answers and conversations.
	KnownCases(ctx context.Context, bank int64) ([]learning.Case, error)
}

// OperationRepository reads and writes the log of operations.
type OperationRepository interface {
	// Do runs an effect once per operation ID. Later calls fill result with the stored result.
	Do(ctx context.Context, op string, args, result any, effect func() error) error
}
