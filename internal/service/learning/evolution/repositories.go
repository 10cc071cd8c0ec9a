package evolution

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/service/learning/cases"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx reads and writes the rounds of a workspace in one transaction.
type Tx interface {
	cases.Tx
	Rounds() Repository
}

// Repository reads and writes rounds of evolution.
type Repository interface {
	// PutRound opens a round. If the run has a round, PutRound returns it.
	PutRound(ctx context.Context, bank int64, run string, base int) (learning.Round, error)
	RoundOf(ctx context.Context, run string) (learning.Round, error)
	// SaveRound stores the state of a round. A round that has ended does not change.
	SaveRound(ctx context.Context, r learning.Round) error
	// DecideRound decides on a round that waits. It returns false if it no longer waits.
	DecideRound(ctx context.Context, bank int64, number int, outcome, note string) (bool, error)
	// Rounds lists the rounds of a bank, newest first.
	Rounds(ctx context.Context, bank int64, most int) ([]learning.Round, error)
}
