package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Offload replaces parts of a long thread by summaries. For a conversation, it first runs a review,
// so that memories and skills are saved. Then a model summarizes each group of messages. Groups
// without a summary are unchanged; the run's row states them.
func Offload(ctx workflow.Context, in contract.OffloadInput) (contract.OffloadResult, error) {
	var reasons []string
	var err error
	if in.Flush != nil {
		setDetails(ctx, "Reviewing the conversation within %d model calls", in.Flush.Budget.Max)
		_, err = runAgent(ctx, *in.Flush)
	}
	if err == nil {
		setDetails(ctx, "Summarizing %d groups of messages", in.Groups)
		reasons, err = compress(ctx, in)
	}
	code, why := explain(err)
	closing := contract.CloseOffloadInput{RunRef: in.RunRef, Reasons: reasons, Code: code, Why: why}
	return closeRun[contract.CloseOffloadInput, contract.OffloadResult](
		ctx, in.Timeouts, contract.CloseOffload, closing, err)
}

// groupsAtOnce limits the groups that are summarized concurrently.
const groupsAtOnce = 4

// compress summarizes groups concurrently, and returns the reasons of groups without a summary.
func compress(ctx workflow.Context, in contract.OffloadInput) (reasons []string, failed error) {
	reasons = make([]string, in.Groups)
	for from := 0; from < in.Groups && failed == nil; from += groupsAtOnce {
		var pending []workflow.Future
		for n := from; n < min(from+groupsAtOnce, in.Groups); n++ {
			options := modelStep(in.Timeouts, fmt.Sprintf("record group %d of %d → model", n+1, in.Groups))
			pending = append(pending, workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options),
				contract.Compress, contract.GroupInput{RunRef: in.RunRef, Group: n}))
		}
		for i, f := range pending {
			var out contract.CompressResult
			if err := f.Get(ctx, &out); err != nil {
				failed = err
			}
			reasons[from+i] = out.Reason
		}
	}
	return reasons, failed
}

// offloadPatience limits how long a turn waits for the compaction of its conversation.
const offloadPatience = 5 * time.Minute

// shorten starts the compaction of a conversation that does not fit the model, and waits for it.
// The compaction continues after the wait has ended.
func shorten(ctx workflow.Context, in contract.AgentInput, todo contract.OffloadToStart) error {
	summary := fmt.Sprintf("offload · run %s", todo.Input.Run)
	options := independentChild(todo.WorkflowID, summary, attributes(ctx, "offload"))
	options.TaskQueue, options.WorkflowExecutionTimeout = contract.QueueMain, offloadPatience
	child := workflow.WithChildOptions(ctx, options)
	err := workflow.ExecuteChildWorkflow(child, contract.Offload, todo.Input).Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) { // the relay has started it
		wait := databaseStep(in.Timeouts, "wait for the conversation to be made shorter")
		return perform(ctx, polling(wait, offloadPatience), contract.AwaitOffload, todo.Input.RunRef)
	}
	return err
}
