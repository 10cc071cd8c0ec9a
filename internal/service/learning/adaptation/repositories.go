package adaptation

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/service/learning/cases"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx reads and writes the policy updates of a workspace in one transaction.
type Tx interface {
	cases.Tx
	Updates() Repository
}

// Repository reads and writes updates of policies.
type Repository interface {
	// PutUpdate stores an update in the shadow state. If the run has an update, PutUpdate returns
	// it.
	PutUpdate(ctx context.Context, bank int64, u learning.Update) (learning.Update, error)
	// MoveUpdate changes the state of an update and stores its data. An update that stays in its state
	// ends in it. MoveUpdate returns false if the update has ended or is no longer in state before.
	MoveUpdate(ctx context.Context, bank int64, before string, u learning.Update) (bool, error)
	// OpenUpdate returns the update that is in the shadow or on canary. A bank has at most one.
	OpenUpdate(ctx context.Context, bank int64) (learning.Update, bool, error)
	// UpdateAt returns an update by its number.
	UpdateAt(ctx context.Context, bank int64, number int) (learning.Update, bool, error)
	Updates(ctx context.Context, bank int64, before, most int) ([]learning.Update, error)
	// CanaryScores returns the scores of replies since the canary began: those of the update's
	// decisions, and those of the active policy.
	CanaryScores(ctx context.Context, bank int64, u learning.Update) (candidate, incumbent []learning.Outcome,
		err error)
	// CanaryLate reports whether the maximum duration of a canary has passed.
	CanaryLate(ctx context.Context, u learning.Update) (bool, error)
}
