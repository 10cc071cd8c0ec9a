package adaptation

import (
	"context"

	"cairn/internal/service/learning/cases"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a workspace's updates of policies in one transaction.
type Tx interface {
	cases.Tx
	Updates() Repository
}

// Repository reads and writes updates of policies.
type Repository interface {
	// PutUpdate keeps an update in the shadow; one that the run has made is returned instead.
	PutUpdate(ctx context.Context, bank int64, u Update) (Update, error)
	// MoveUpdate brings an update to its state, with what is known then; false when
	// it was not in the state before any more.
	MoveUpdate(ctx context.Context, bank int64, before string, u Update) (bool, error)
	// OpenUpdate is the one in the shadow or on canary: a bank has one at most.
	OpenUpdate(ctx context.Context, bank int64) (Update, bool, error)
	Updates(ctx context.Context, bank int64, most int) ([]Update, error)
	// CanaryScores are what was said of answers since an update's canary began: of
	// those that its decisions are behind, and of those of its version's policy.
	CanaryScores(ctx context.Context, bank int64, u Update) (candidate, incumbent []float64, err error)
	// CanaryLate reports whether a canary has gone on for as long as one may.
	CanaryLate(ctx context.Context, u Update) (bool, error)
}
