package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Turn replies to one message within its channel's budget. It does not fail: a turn whose model is
// unavailable, whose time limit has passed, or that was canceled still gets a reply.
func Turn(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	if err := inWorkspace(ctx, in.WorkspaceKey); err != nil {
		return contract.AgentResult{}, err
	}
	setDetails(ctx, "Running turn %d within %d model calls", in.Number, in.Budget.Max)
	in.Base.Compacts = true // see StepResult.Overflow
	if in.Voice {
		_ = transcribe(ctx, in) // without the words, the reply states that they are missing
	}
	return runAgent(ctx, in)
}

// transcribePatience limits the transcription of the recordings of a turn with all its retries.
const transcribePatience = 5 * time.Minute

// transcribe writes the words of recordings into the messages of the turn.
func transcribe(ctx workflow.Context, in contract.AgentInput) error {
	options := onQueue(in.Queue, modelStep(in.Timeouts, "transcribe"))
	options.ScheduleToCloseTimeout = min(in.Timeouts.GiveUp, transcribePatience)
	if in.Budget.Wall > 0 {
		options.ScheduleToCloseTimeout = min(options.ScheduleToCloseTimeout, in.Budget.Wall)
	}
	options.StartToCloseTimeout = min(in.Timeouts.Model, options.ScheduleToCloseTimeout)
	options.RetryPolicy, options.WaitForCancellation = quickRetry(), true
	return perform(ctx, options, contract.Transcribe, in.RunRef)
}
