package cases

import (
	"context"
	"time"

	"cairn/internal/service/learning/decision"
	"cairn/internal/service/learning/extraction"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a workspace's cases in one transaction.
type Tx interface {
	decision.Tx
	extraction.Tx
	Cases() Repository
	Operations() OperationRepository
}

// Repository reads and writes cases.
type Repository interface {
	// PutCase makes a case of a question, or adds to the one that it has.
	PutCase(ctx context.Context, c Case) (Case, error)
	CaseOf(ctx context.Context, id int64) (Case, error)
	SucceedCase(ctx context.Context, bank int64, key, op string) error
	ExpireCases(ctx context.Context, bank int64, window time.Duration) (int64, error)
	OpenCases(ctx context.Context, bank int64, most int) ([]Case, error)
	// KnownCases are questions of a bank whose answers and conversations are known.
	KnownCases(ctx context.Context, bank int64) ([]Case, error)
}

// OperationRepository reads and writes the log of operations.
type OperationRepository interface {
	// Do runs an effect under an operation id once; result is what the first one
	// has left in it.
	Do(ctx context.Context, op string, args, result any, effect func() error) error
}
