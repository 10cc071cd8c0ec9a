package launcher

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

// CancelRun asks a workflow to end. It returns false if there is none.
func (d Driver) CancelRun(ctx context.Context, workflowID string) (bool, error) {
	if err := txscope.Reject(ctx); err != nil {
		return false, err
	}
	err := d.Client.CancelWorkflow(ctx, workflowID, "")
	if missing := (*serviceerror.NotFound)(nil); errors.As(err, &missing) {
		return false, nil
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "the cancellation did not reach Temporal", "try again")
	}
	return true, nil
}
