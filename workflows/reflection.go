package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Reflection reviews a day. Its conversations become notes, memories and skills, and those that
// pass the gate are distilled. Its result is in its row; no caller waits for it.
func Reflection(ctx workflow.Context, in contract.ReflectionInput) (contract.ReflectionResult, error) {
	setDetails(ctx, "Reading the conversations until the end of %s", in.Date)
	options := databaseStep(defaultTimeouts(), "open the reflection of "+in.Date)
	opened, err := execute[contract.OpenReflectionResult](ctx, options, contract.OpenReflection, in)
	if err != nil {
		return contract.ReflectionResult{}, err
	}
	ended := opened.Ended
	if ended == nil {
		setDetails(ctx, "Reflecting on %s within %d model calls", in.Date, opened.Budget.Max)
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

// distillDay starts the distillations of a day without waiting for them. The relay starts those
// that do not start here.
func distillDay(ctx workflow.Context, opened contract.OpenReflectionResult) (started int) {
	options := databaseStep(opened.Timeouts, "distill the conversations of the day")
	day, err := execute[contract.DistillDayResult](ctx, options, contract.DistillDay, opened.RunRef)
	if err != nil {
		return 0 // the next reflection, or the idle processing of the conversation, finds it
	}
	var children []workflow.ChildWorkflowFuture
	for _, one := range day.Distills {
		of := temporal.NewSearchAttributeKeyKeyword(contract.AttributeConversation).
			ValueSet(fmt.Sprint(one.Conversation))
		options := independentChild(
			one.WorkflowID, fmt.Sprintf("distill a conversation · run %s", one.Input.Run),
			temporal.NewSearchAttributes(attributes(ctx, "distill").Copy(), of))
		options.TaskQueue = contract.QueueLLM // where its steps run
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
