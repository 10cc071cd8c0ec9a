package bank

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/store"
)

// SaveStep stores the result of a step; the first one is kept. The result is erased together with
// the conversation; 0 means none.
func SaveStep(ctx context.Context, tx store.Tx, run, step string, conversation int64, result any) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode step %s of run %s: %w", step, run, err)
	}
	return tx.Training().SaveStepResult(ctx, run, step, conversation, raw)
}

// ReadStep reads the result of a step, and reports whether it exists.
func ReadStep[T any](ctx context.Context, tx store.Tx, run, step string) (out T, done bool, err error) {
	raw, done, err := tx.Training().StepResult(ctx, run, step)
	if err != nil || !done {
		return out, false, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, false, fmt.Errorf("decode step %s of run %s: %w", step, run, err)
	}
	return out, true, nil
}

// NeedStep reads the result of a step. A missing result is an error.
func NeedStep[T any](ctx context.Context, tx store.Tx, run, step string) (T, error) {
	out, done, err := ReadStep[T](ctx, tx, run, step)
	if err == nil && !done {
		err = fmt.Errorf("step %s has no result", step)
	}
	return out, err
}

// IsDone reports whether a step of a run has a result.
func IsDone(ctx context.Context, tx store.Tx, run, step string) (bool, error) {
	_, done, err := tx.Training().StepResult(ctx, run, step)
	return done, err
}
