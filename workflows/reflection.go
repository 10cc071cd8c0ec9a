package workflows

import (
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Reflection looks back over a day: its conversations become notes, memories and
// skills, and those that are worth it are distilled. How it ended is in its row;
// nobody waits for it.
func Reflection(ctx workflow.Context, in contract.ReflectionInput) (contract.ReflectionResult, error) {
	story := newStory(ctx)
	story.tell("Taking up what was said until the end of " + in.Date)
	opened, err := openReflection(ctx, in)
	if err != nil {
		return contract.ReflectionResult{}, err
	}
	ended := opened.Ended
	if ended == nil {
		story.tell(fmt.Sprintf("Looking back over %s within %d model calls", in.Date, opened.Budget.Max))
		out, err := runAgent(ctx, contract.AgentInput{RunRef: opened.RunRef, Kind: "reflection", Budget: opened.Budget, Pace: opened.Pace, Queue: contract.QueueBatch})
		if err != nil {
			return contract.ReflectionResult{}, err
		}
		ended = &out
	}
	result := contract.ReflectionResult{Run: opened.Run, Status: ended.Status, Steps: ended.Steps}
	if ended.Steps > 0 && ctx.Err() == nil {
		story.tell("Distilling the conversations of " + in.Date)
		result.Distills = distillDay(ctx, opened)
	}
	return result, nil
}

func openReflection(ctx workflow.Context, in contract.ReflectionInput) (out contract.ReflectionOpened, err error) {
	ctx = database(ctx, defaultPace, "open the reflection of "+in.Date)
	err = workflow.ExecuteActivity(ctx, contract.OpenReflection, in).Get(ctx, &out)
	return out, err
}

// distillDay starts the distillations of a day and leaves them to themselves: one
// that does not start here is started by the relay.
func distillDay(ctx workflow.Context, opened contract.ReflectionOpened) (started int) {
	var day contract.DayDistilled
	read := database(ctx, opened.Pace, "distil what is worth it")
	if err := workflow.ExecuteActivity(read, contract.DistillDay, opened.RunRef).Get(read, &day); err != nil {
		return 0 // the next reflection, or the conversation's own idle time, finds it
	}
	var children []workflow.ChildWorkflowFuture
	for _, one := range day.Distills {
		child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID:            one.WorkflowID,
			TaskQueue:             contract.QueueLLM, // beside its steps
			WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
			ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
			WorkflowTaskTimeout:   contract.TaskTimeout,
			StaticSummary:         fmt.Sprintf("distil a conversation · run %d", one.Input.Run),
			TypedSearchAttributes: temporal.NewSearchAttributes(attributes(ctx, "distill").Copy(),
				temporal.NewSearchAttributeKeyKeyword(contract.AttributeConversation).ValueSet(fmt.Sprint(one.Conversation))),
		})
		children = append(children, workflow.ExecuteChildWorkflow(child, contract.Distill, one.Input))
	}
	for _, c := range children {
		if err := c.GetChildWorkflowExecution().Get(ctx, nil); err == nil || temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			started++
		}
	}
	return started
}
