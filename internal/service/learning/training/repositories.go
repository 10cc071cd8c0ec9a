package training

import (
	"context"

	"cairn/internal/service/learning/cases"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx reads and writes the rows of a training in one transaction.
type Tx interface {
	cases.Tx
}
