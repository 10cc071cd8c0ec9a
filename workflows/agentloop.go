package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
)

// runAgent drives a run of the agent loop to its end. Package agent decides each effect; runAgent
// executes it. A step is one activity with one model response, and a slow tool is an activity of
// its own. The run is closed however it ends, and the result in its row is returned. A query
// returns the state meanwhile.
func runAgent(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	state, effect := beginAgent(ctx, in)
	called := ""    // tools of the last response, for the details in Temporal UI
	var cause error // set if the run ended without a closing step
	show := func() (agent.State, error) { return state, nil }
	if err := workflow.SetQueryHandler(ctx, contract.QueryState, show); err != nil {
		return contract.AgentResult{}, err
	}
	for {
		switch todo := effect.(type) {
		case agent.Step:
			out, err := runStep(ctx, in, state, todo, called)
			if err == nil &&
				out.Overflow != nil { // no model call was made: the deadline starts when the conversation fits
				if err := shorten(ctx, in, *out.Overflow); err != nil && ctx.Err() != nil {
					state, effect = agent.Next(state, agent.Cancelled{})
					continue
				}
				in.Base.Compacts = false // only once: what still does not fit is truncated
				state, effect = beginAgent(ctx, in)
				continue
			}
			if err == nil && out.Ended != nil {
				return *out.Ended, nil
			}
			called, cause = toolNames(out.Calls), err
			state, effect = agent.Next(state, eventFor(ctx, err, out.StepDone))
		case agent.RunTools:
			err := runTools(ctx, in, state, todo)
			state, effect = agent.Next(state, eventFor(ctx, err, agent.ToolsRan{}))
		case agent.End:
			return closeAgent(ctx, in, todo.Reason, cause)
		}
	}
}

func beginAgent(ctx workflow.Context, in contract.AgentInput) (agent.State, agent.Effect) {
	return agent.Next(agent.State{}, agent.Begin{At: workflow.Now(ctx), Budget: in.Budget})
}

// eventFor returns the event for the end of an activity. An activity that failed after the
// cancellation of the run is treated as canceled.
func eventFor(ctx workflow.Context, err error, done agent.Event) agent.Event {
	var timeout *temporal.TimeoutError
	switch {
	case err == nil:
		return done
	case temporal.IsCanceledError(err), ctx.Err() != nil:
		return agent.Cancelled{}
	case errors.As(err, &timeout), errors.Is(err, errDeadline):
		return agent.DeadlinePassed{}
	}
	return agent.Failed{Provider: true}
}

// runStep requests one model response.
func runStep(
	ctx workflow.Context, in contract.AgentInput, state agent.State, todo agent.Step, called string,
) (out contract.StepResult, err error) {
	left := timeLeft(ctx, in, state)
	if left <= 0 {
		return out, errDeadline
	}
	summary := fmt.Sprintf("step %d of %d · %smodel", todo.N, in.Budget.Max, called)
	if todo.Toolless {
		summary += " (final answer)"
	}
	options := agentStep(in, left, summary)
	options.WaitForCancellation = true
	step := contract.StepInput{RunRef: in.RunRef, Step: todo, Base: in.Base}
	return execute[contract.StepResult](ctx, options, contract.Step, step)
}

// agentStep returns the options of a step, limited by the time left for the run.
func agentStep(in contract.AgentInput, left time.Duration, summary string) workflow.ActivityOptions {
	options := onQueue(in.Queue, modelStep(in.Timeouts, summary))
	options.StartToCloseTimeout, options.ScheduleToCloseTimeout = min(in.Timeouts.Model, left), left
	options.RetryPolicy = quickRetry()
	return options
}

// errDeadline reports that the deadline had passed before the activity started.
var errDeadline = errors.New("the deadline of the run has passed")

// timeLeft returns the time left for the run.
func timeLeft(ctx workflow.Context, in contract.AgentInput, state agent.State) time.Duration {
	if state.Deadline.IsZero() {
		return in.Timeouts.GiveUp
	}
	return state.Deadline.Sub(workflow.Now(ctx))
}

// runTools runs the slow calls of a response concurrently, one activity each, and then the
// hand-offs. A control call needs no activity; the next step acknowledges it. The next step also
// reports a failed tool to the model. Only a cancellation and the deadline end the run here.
func runTools(ctx workflow.Context, in contract.AgentInput, state agent.State, todo agent.RunTools) error {
	left := timeLeft(ctx, in, state)
	if left <= 0 {
		return errDeadline
	}
	group := workflow.NewWaitGroup(ctx)
	for i, call := range todo.Calls {
		if call.Class == agent.Control {
			continue
		}
		if i > 0 && in.Interval > 0 {
			if err := workflow.Sleep(ctx, in.Interval); err != nil {
				return err
			}
		}
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			tool := contract.ToolInput{RunRef: in.RunRef, Step: state.Step, Position: call.Index, Base: in.Base}
			_ = perform(ctx, toolStep(in, left, call), contract.RunTool, tool)
		})
	}
	group.Wait(ctx)
	for _, call := range todo.Calls {
		if call.Tool == contract.HandsOff {
			handOff(ctx, in, state, call)
		}
	}
	return ctx.Err()
}

// toolStep returns the options of a tool call. A call in a sandbox runs on the queue of the
// sandboxed workers with one attempt. If no worker starts it within the heartbeat timeout, it
// fails.
func toolStep(in contract.AgentInput, left time.Duration, call agent.CallRef) workflow.ActivityOptions {
	options := agentStep(in, left, "tool "+call.Tool)
	if call.Class == agent.Isolated {
		options.TaskQueue, options.ScheduleToStartTimeout = contract.QueueSandbox, in.Timeouts.Heartbeat
		options.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	}
	return options
}

// closeAgent closes a run that no step has closed, and returns the result in its row. A canceled
// run is closed as well, because a caller may wait for it.
func closeAgent(
	ctx workflow.Context, in contract.AgentInput, reason agent.Reason, cause error,
) (contract.AgentResult, error) {
	code, _ := explain(cause)
	closing := contract.CloseAgentInput{RunRef: in.RunRef, Reason: reason, Detail: code, Base: in.Base}
	return closeRun[contract.CloseAgentInput, contract.AgentResult](
		ctx, in.Timeouts, contract.CloseAgent, closing, nil)
}

// toolNames lists the tools of a response for the summary of the next step.
func toolNames(calls []agent.CallRef) string {
	const shown = 4
	var out []string
	for i, c := range calls {
		if i == shown {
			out = append(out, fmt.Sprintf("%d more", len(calls)-shown))
			break
		}
		out = append(out, c.Tool)
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, ", ") + " → "
}
