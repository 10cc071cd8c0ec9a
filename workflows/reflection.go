package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Reflection looks back over a day: its conversations become notes, memories and
// skills, and those that are worth it are distilled. How it ended is in its row;
// nobody waits for it.
func Reflection(ctx workflow.Context, in contract.ReflectionInput) (contract.ReflectionResult, error) {
	setDetails(ctx, "Taking up what was said until the end of %s", in.Date)
	options := databaseStep(defaultTimeouts(), "open the reflection of "+in.Date)
	opened, err := execute[contract.OpenReflectionResult](ctx, options, contract.OpenReflection, in)
	if err != nil {
		return contract.ReflectionResult{}, err
	}
	ended := opened.Ended
	if ended == nil {
		setDetails(ctx, "Looking back over %s within %d model calls", in.Date, opened.Budget.Max)
		out, err := runAgent(ctx, contract.AgentInput{
			RunRef: opened.RunRef, Kind: "reflection",
			Budget: opened.Budget, Timeouts: opened.Timeouts, Queue: contract.QueueBatch,
		})
		if err != nil {
			return contract.ReflectionResult{}, err
		}
		ended = &out
	}
	result := contract.ReflectionResult{Run: opened.Run, Status: ended.Status, Steps: ended.Steps}
	if ended.Steps > 0 && ctx.Err() == nil {
		setDetails(ctx, "Distilling the conversations of %s", in.Date)
		result.Distills = distillDay(ctx, opened)
	}
	return result, nil
}

// distillDay starts the distillations of a day and leaves them to themselves: one
// that does not start here is started by the relay.
func distillDay(ctx workflow.Context, opened contract.OpenReflectionResult) (started int) {
	options := databaseStep(opened.Timeouts, "distil what is worth it")
	day, err := execute[contract.DistillDayResult](ctx, options, contract.DistillDay, opened.RunRef)
	if err != nil {
		return 0 // the next reflection, or the conversation's own idle time, finds it
	}
	var children []workflow.ChildWorkflowFuture
	for _, one := range day.Distills {
		of := temporal.NewSearchAttributeKeyKeyword(contract.AttributeConversation).
			ValueSet(fmt.Sprint(one.Conversation))
		options := independentChild(
			one.WorkflowID, fmt.Sprintf("distil a conversation · run %d", one.Input.Run),
			temporal.NewSearchAttributes(attributes(ctx, "distill").Copy(), of))
		options.TaskQueue = contract.QueueLLM // beside its steps
		child := workflow.WithChildOptions(ctx, options)
		children = append(children, workflow.ExecuteChildWorkflow(child, contract.Distill, one.Input))
	}
	for _, c := range children {
		err := c.GetChildWorkflowExecution().Get(ctx, nil)
		if err == nil || temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			started++
		}
	}
	return started
}
