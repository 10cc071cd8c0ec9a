package evolution

import (
	"context"

	"cairn/internal/service/learning/cases"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a workspace's rounds in one transaction.
type Tx interface {
	cases.Tx
	Rounds() Repository
}

// Repository reads and writes rounds of evolution.
type Repository interface {
	// PutRound opens a round, or finds the one of the run.
	PutRound(ctx context.Context, bank, run int64, base int) (Round, error)
	RoundOf(ctx context.Context, run int64) (Round, error)
	// SaveRound keeps how far a round is. One that has ended stays as it is.
	SaveRound(ctx context.Context, r Round) error
	// Rounds lists the rounds of a bank, the newest first.
	Rounds(ctx context.Context, bank int64, most int) ([]Round, error)
}
