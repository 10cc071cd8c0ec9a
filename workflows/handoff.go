package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
)

// handOff executes one call to hands_off. It reads the requested specialists, runs them
// concurrently, and records the result for the model.
func handOff(ctx workflow.Context, in contract.AgentInput, state agent.State, call agent.CallRef) {
	tool := contract.ToolInput{RunRef: in.RunRef, Step: state.Step, Position: call.Index, Base: in.Base}
	read := onQueue(in.Queue, databaseStep(in.Timeouts, "hand off"))
	handed, err := execute[contract.HandOffResult](ctx, read, contract.HandOff, tool)
	if err != nil || handed.Recorded {
		return // the next step reports a call without a result
	}
	record := contract.RecordHandOffInput{ToolInput: tool}
	group := workflow.NewWaitGroup(ctx)
	for _, one := range handed.Specialists {
		record.Runs = append(record.Runs, one.Input.Run)
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			runSpecialist(ctx, one)
		})
	}
	group.Wait(ctx)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	write := onQueue(in.Queue, databaseStep(in.Timeouts, fmt.Sprintf("record %d specialists", len(record.Runs))))
	_ = perform(detached, write, contract.RecordHandOff, record)
}

// runSpecialist runs a child to its end. If an earlier attempt has started it, it waits for the
// child. The result is in the row of the run.
func runSpecialist(ctx workflow.Context, one contract.AgentToStart) {
	options := independentChild(one.WorkflowID, "specialist · "+one.Type, attributes(ctx, "specialist"))
	options.WaitForCancellation = true
	child := workflow.WithChildOptions(ctx, options)
	err := workflow.ExecuteChildWorkflow(child, contract.Specialist, one.Input).Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		wait := databaseStep(one.Input.Timeouts, "wait for a specialist")
		_ = perform(ctx, wait, contract.AwaitAgent, one.Input.RunRef)
	}
}
