package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Offload has records made of a thread that has grown too long: first it is
// looked through for what must not be lost, when it is a conversation, then each
// group of its messages is put to a model. What a model does not do leaves the
// thread as it was, which the run's row says.
func Offload(ctx workflow.Context, in contract.OffloadInput) (contract.OffloadResult, error) {
	story := newStory(ctx)
	if in.Flush != nil {
		story.tell(fmt.Sprintf("Looking through the conversation within %d model calls", in.Flush.Budget.Max))
		if _, err := runAgent(ctx, *in.Flush); err != nil {
			return closeOffload(ctx, in, nil, err)
		}
	}
	story.tell(fmt.Sprintf("Recording %d groups of messages", in.Groups))
	reasons, err := compress(ctx, in)
	return closeOffload(ctx, in, reasons, err)
}

// groupsAtOnce bounds how many groups are put to a model side by side.
const groupsAtOnce = 4

// compress records groups side by side, and tells why those that have no record
// have none.
func compress(ctx workflow.Context, in contract.OffloadInput) (reasons []string, failed error) {
	reasons = make([]string, in.Groups)
	for from := 0; from < in.Groups && failed == nil; from += groupsAtOnce {
		var under []workflow.Future
		for n := from; n < min(from+groupsAtOnce, in.Groups); n++ {
			one := model(ctx, in.Pace, fmt.Sprintf("record group %d of %d → model", n+1, in.Groups))
			under = append(under, workflow.ExecuteActivity(one, contract.Compress, contract.GroupInput{RunRef: in.RunRef, Group: n}))
		}
		for i, f := range under {
			var out contract.Compressed
			if err := f.Get(ctx, &out); err != nil {
				failed = err
			}
			reasons[from+i] = out.Reason
		}
	}
	return reasons, failed
}

// closeOffload makes the run's row say what came of it, for a cancelled run too.
func closeOffload(ctx workflow.Context, in contract.OffloadInput, reasons []string, cause error) (out contract.OffloadResult, err error) {
	code, why := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	detached = database(detached, in.Pace, "keep the records")
	err = workflow.ExecuteActivity(detached, contract.CloseOffload, contract.CloseOffloadInput{RunRef: in.RunRef, Reasons: reasons, Code: code, Why: why}).Get(detached, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}

// offloadPatience bounds how long a turn waits for its conversation to be made
// shorter, whatever becomes of that.
const offloadPatience = 5 * time.Minute

// shorten has a conversation that does not fit any more made shorter. The work
// goes on to its end when nobody waits for it any more.
func shorten(ctx workflow.Context, in contract.AgentInput, todo contract.OffloadToStart) error {
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:               todo.WorkflowID,
		TaskQueue:                contract.QueueMain,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:        enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowTaskTimeout:      contract.TaskTimeout,
		WorkflowExecutionTimeout: offloadPatience,
		StaticSummary:            fmt.Sprintf("offload · run %d", todo.Input.Run),
		TypedSearchAttributes:    attributes(ctx, "offload"),
	})
	err := workflow.ExecuteChildWorkflow(child, contract.Offload, todo.Input).Get(child, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) { // the relay was first
		ctx = database(ctx, in.Pace, "wait for the conversation to be made shorter")
		o := workflow.GetActivityOptions(ctx)
		o.ScheduleToCloseTimeout, o.RetryPolicy.MaximumInterval = offloadPatience, time.Second
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), contract.AwaitOffload, todo.Input.RunRef).Get(ctx, nil)
	}
	return err
}
