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

// endPatience is the time in which EndRunning repeats its request to a conversation that is ending
// or continues as new, every endAgain.
const (
	endAgain    = 50 * time.Millisecond
	endPatience = 5 * time.Second
)

// Runs reports whether a conversation's workflow is running.
func (d Driver) Runs(ctx context.Context, workspaceKey string, conversation int64) (bool, error) {
	described, err := d.Client.DescribeWorkflow(ctx, contract.ConversationID(workspaceKey, conversation), "")
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "read the state of the conversation's workflow", "")
	}
	return described.RawResponse.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// EndRunning asks a running conversation to end. It returns false if the conversation is not
// running. A conversation that is ending or continues as new is asked again.
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
		case isNotFound(err):
			return false, nil
		case !errors.As(err, &app) || app.Type() != contract.RollingOver:
			return false, err
		case patience <= 0: // its last review takes long; it still ends
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(endAgain):
		}
	}
}

// isNotFound reports whether err means that no such workflow is running.
func isNotFound(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}
