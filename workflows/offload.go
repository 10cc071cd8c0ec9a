package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Offload has records made of a thread that has grown too long: first it is
// looked through for what must not be lost, when it is a conversation, then each
// group of its messages is put to a model. What a model does not do leaves the
// thread as it was, which the run's row says.
func Offload(ctx workflow.Context, in contract.OffloadInput) (contract.OffloadResult, error) {
	var reasons []string
	var err error
	if in.Flush != nil {
		setDetails(ctx, "Looking through the conversation within %d model calls", in.Flush.Budget.Max)
		_, err = runAgent(ctx, *in.Flush)
	}
	if err == nil {
		setDetails(ctx, "Recording %d groups of messages", in.Groups)
		reasons, err = compress(ctx, in)
	}
	code, why := explain(err)
	closing := contract.CloseOffloadInput{RunRef: in.RunRef, Reasons: reasons, Code: code, Why: why}
	return closeRun[contract.CloseOffloadInput, contract.OffloadResult](
		ctx, in.Timeouts, contract.CloseOffload, closing, err)
}

// groupsAtOnce bounds how many groups are put to a model side by side.
const groupsAtOnce = 4

// compress records groups side by side, and tells why those that have no record
// have none.
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

// offloadPatience bounds how long a turn waits for its conversation to be made
// shorter, whatever becomes of that.
const offloadPatience = 5 * time.Minute

// shorten has a conversation that does not fit any more made shorter. The work
// goes on to its end when nobody waits for it any more.
func shorten(ctx workflow.Context, in contract.AgentInput, todo contract.OffloadToStart) error {
	summary := fmt.Sprintf("offload · run %d", todo.Input.Run)
	options := independentChild(todo.WorkflowID, summary, attributes(ctx, "offload"))
	options.TaskQueue, options.WorkflowExecutionTimeout = contract.QueueMain, offloadPatience
	child := workflow.WithChildOptions(ctx, options)
	err := workflow.ExecuteChildWorkflow(child, contract.Offload, todo.Input).Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) { // the relay was first
		wait := databaseStep(in.Timeouts, "wait for the conversation to be made shorter")
		return perform(ctx, polling(wait, offloadPatience), contract.AwaitOffload, todo.Input.RunRef)
	}
	return err
}
