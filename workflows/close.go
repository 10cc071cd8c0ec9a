package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// closeRun closes a run and returns the result in its row. cause is why the workflow failed, or
// nil. A canceled run is also closed, and then reported as canceled.
func closeRun[I, R any](
	ctx workflow.Context, timeouts contract.StepTimeouts, activity string, in I, cause error,
) (R, error) {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	options := onWorkflowQueue(ctx, databaseStep(timeouts, "write down how it ended"))
	out, err := execute[R](detached, options, activity, in)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}

// closeInput returns the input that closes most runs.
func closeInput(ref contract.RunRef, cause error) contract.CloseInput {
	code, reason := explain(cause)
	return contract.CloseInput{RunRef: ref, Code: code, Reason: reason}
}

// explain converts an error to the code and the reason that a run's row stores.
func explain(err error) (code, reason string) {
	if err == nil {
		return "", ""
	}
	if temporal.IsCanceledError(err) {
		return "cancelled", "cancelled on request"
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type(), app.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return "unavailable", "a step did not finish in time: " + timeout.Message()
	}
	return "internal", err.Error()
}
