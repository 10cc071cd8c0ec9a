package launcher

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
)

// How long a conversation that is ending, or continues as new, is asked to end, and how
// often.
const (
	endAgain    = 50 * time.Millisecond
	endPatience = 5 * time.Second
)

// Runs tells whether a conversation's workflow runs.
func (d Driver) Runs(ctx context.Context, workspaceKey string, conversation int64) (bool, error) {
	described, err := d.Client.DescribeWorkflowExecution(ctx, contract.ConversationID(workspaceKey, conversation), "")
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "Temporal does not tell whether the conversation runs", "")
	}
	return described.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// EndRunning tells a conversation that runs to end; it is false for one that
// does not run. One that is ending, or continues as new, is asked again.
func (d Driver) EndRunning(ctx context.Context, workspaceKey string, conversation int64) (bool, error) {
	for patience := endPatience; ; patience -= endAgain {
		running, err := d.Runs(ctx, workspaceKey, conversation)
		if err != nil || !running {
			return false, err
		}
		_, err = d.End(ctx, workspaceKey, conversation)
		var app *temporal.ApplicationError
		switch {
		case err == nil:
			return true, nil
		case gone(err):
			return false, nil
		case !errors.As(err, &app) || app.Type() != contract.RollingOver:
			return false, err
		case patience <= 0: // its last review takes long: it ends all the same
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(endAgain):
		}
	}
}

// gone tells that there is no such workflow, or none that still runs.
func gone(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}
