package runspec

import (
	"context"
	"encoding/json"
	"fmt"
)

// SaveStep keeps what a step of a run came to; the first result stays. Conversation
// is what the result is erased with; 0 is none.
func SaveStep(ctx context.Context, tx Tx, run int64, step string, conversation int64, result any) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode step %s of run %d: %w", step, run, err)
	}
	return tx.Steps().SaveStepResult(ctx, run, step, conversation, raw)
}

// ReadStep reads what a step of a run came to, and reports whether it was done.
func ReadStep[T any](ctx context.Context, tx Tx, run int64, step string) (out T, done bool, err error) {
	raw, done, err := tx.Steps().StepResult(ctx, run, step)
	if err != nil || !done {
		return out, false, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, false, fmt.Errorf("decode step %s of run %d: %w", step, run, err)
	}
	return out, true, nil
}

// NeedStep reads what a step of a run came to. One that was not done is an error.
func NeedStep[T any](ctx context.Context, tx Tx, run int64, step string) (T, error) {
	out, done, err := ReadStep[T](ctx, tx, run, step)
	if err == nil && !done {
		err = fmt.Errorf("step %s has not been done", step)
	}
	return out, err
}

// IsDone reports whether a step of a run was done.
func IsDone(ctx context.Context, tx Tx, run int64, step string) (bool, error) {
	_, done, err := tx.Steps().StepResult(ctx, run, step)
	return done, err
}
