package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
)

// Summarize makes memories of a session: the session itself is kept first, then
// an agent registers whom it was about, leaves a digest, and hands targets off to
// specialists. What becomes of those fails neither it nor each other.
func Summarize(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	story := newStory(ctx)
	story.tell("Keeping the session")
	kept, err := keepSession(ctx, in)
	if err != nil {
		return closeAgent(ctx, in, agent.ProviderError, err)
	}
	if kept.Ended != nil {
		return *kept.Ended, nil
	}
	story.tell(fmt.Sprintf("Summarising within %d model calls", in.Budget.Max))
	return runAgent(ctx, in)
}

func keepSession(ctx workflow.Context, in contract.AgentInput) (out contract.SessionKept, err error) {
	ctx = database(ctx, in.Pace, "keep the session")
	err = workflow.ExecuteActivity(ctx, contract.KeepSession, in).Get(ctx, &out)
	return out, err
}

// handOff carries out one call to hands_off: what stands before it in the
// response, a specialist for each target side by side, and what the model is told
// of them.
func handOff(ctx workflow.Context, in contract.AgentInput, state agent.State, call agent.CallRef) {
	tool := contract.ToolInput{RunRef: in.RunRef, Step: state.Step, Position: call.Index, Base: in.Base}
	var handed contract.HandedOff
	read := workflow.WithTaskQueue(database(ctx, in.Pace, "hand off"), in.Queue)
	if err := workflow.ExecuteActivity(read, contract.HandOff, tool).Get(read, &handed); err != nil || handed.Told {
		return // a call without a result is told as such by the next step
	}
	var runs []int64
	group := workflow.NewWaitGroup(ctx)
	for _, one := range handed.Specialists {
		runs = append(runs, one.Input.Run)
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			runSpecialist(ctx, one)
		})
	}
	group.Wait(ctx)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	told := workflow.WithTaskQueue(database(detached, in.Pace, fmt.Sprintf("tell of %d specialists", len(runs))), in.Queue)
	_ = workflow.ExecuteActivity(told, contract.TellHandOff, contract.TellInput{ToolInput: tool, Runs: runs}).Get(told, nil)
}

// runSpecialist runs a child to its end. One that an earlier attempt has started
// is waited for. How it ended is in its row.
func runSpecialist(ctx workflow.Context, one contract.AgentToStart) {
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            one.WorkflowID,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON, // a parent that is lost is started again, and waits for it
		WaitForCancellation:   true,
		StaticSummary:         "specialist · " + one.Type,
		TypedSearchAttributes: attributes(ctx, "specialist"),
	})
	err := workflow.ExecuteChildWorkflow(child, contract.Specialist, one.Input).Get(child, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		wait := database(ctx, one.Input.Pace, "wait for a specialist")
		_ = workflow.ExecuteActivity(wait, contract.AwaitAgent, one.Input.RunRef).Get(wait, nil)
	}
}

// Specialist looks after the memories of one target, alone: another session that
// has something to say of it waits.
func Specialist(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	story := newStory(ctx)
	story.tell("Waiting for the target")
	taken, err := takeTarget(ctx, in)
	if err != nil {
		return closeAgent(ctx, in, happenedTo(err), err)
	}
	if taken.Ended != nil {
		return *taken.Ended, nil
	}
	story.tell(fmt.Sprintf("Looking after the target within %d model calls", in.Budget.Max))
	in.Base.Fence = taken.Fence
	out, err := runAgent(ctx, in)
	freeTarget(ctx, in)
	return out, err
}

func happenedTo(err error) agent.Reason {
	if temporal.IsCanceledError(err) {
		return agent.Interrupted
	}
	return agent.ProviderError
}

// takePatience is how long a specialist waits for its target: others that stand
// before it may have much to do.
const takePatience = 2 * time.Hour

func takeTarget(ctx workflow.Context, in contract.AgentInput) (out contract.TargetTaken, err error) {
	ctx = database(ctx, in.Pace, "take the target")
	o := workflow.GetActivityOptions(ctx)
	o.RetryPolicy.MaximumInterval, o.ScheduleToCloseTimeout = time.Second, takePatience
	ctx = workflow.WithActivityOptions(ctx, o)
	err = workflow.ExecuteActivity(ctx, contract.TakeTarget, in).Get(ctx, &out)
	return out, err
}

// freeTarget lets the next one in. Its lease ends by itself when this fails.
func freeTarget(ctx workflow.Context, in contract.AgentInput) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	pace := in.Pace
	pace.GiveUp = contract.LeaseFor(pace)
	ctx = database(ctx, pace, "free the target")
	_ = workflow.ExecuteActivity(ctx, contract.FreeTarget, contract.TargetInput{RunRef: in.RunRef, Fence: in.Base.Fence}).Get(ctx, nil)
}
