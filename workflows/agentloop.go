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

// runAgent drives a run of the agent loop to its end. What follows from what is
// decided by internal/domain/agent; here each effect is carried out: a step is one
// activity with one model response in it, a slow tool is one by itself. The
// run is closed however it ends, and what its row says is returned. How far it has
// come within its budget may be asked meanwhile.
func runAgent(ctx workflow.Context, in contract.AgentInput) (contract.AgentResult, error) {
	state, effect := beginAgent(ctx, in)
	called := ""    // by the last response: for the line that Temporal UI shows
	var cause error // of an end that no step has made
	show := func() (agent.State, error) { return state, nil }
	if err := workflow.SetQueryHandler(ctx, contract.QueryState, show); err != nil {
		return contract.AgentResult{}, err
	}
	for {
		switch todo := effect.(type) {
		case agent.Step:
			out, err := runStep(ctx, in, state, todo, called)
			if err == nil && out.Overflow != nil { // nothing was asked: the clock begins when the conversation fits
				if err := shorten(ctx, in, *out.Overflow); err != nil && ctx.Err() != nil {
					state, effect = agent.Next(state, agent.Cancelled{})
					continue
				}
				in.Base.Compacts = false // once: what does not fit even now is shown as far as it does
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

// eventFor is what an activity's end means for the loop. One that failed after the
// run was cancelled, before it heard of it, has been cancelled, too.
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

// runStep asks for one model response.
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

// agentStep is a step of an agent, which ends with the time that the run has left.
func agentStep(in contract.AgentInput, left time.Duration, summary string) workflow.ActivityOptions {
	options := onQueue(in.Queue, modelStep(in.Timeouts, summary))
	options.StartToCloseTimeout, options.ScheduleToCloseTimeout = min(in.Timeouts.Model, left), left
	options.RetryPolicy = quickRetry()
	return options
}

// errDeadline is a deadline that has passed before anything was begun.
var errDeadline = errors.New("the time of the run is over")

// timeLeft is how long the run may still go on.
func timeLeft(ctx workflow.Context, in contract.AgentInput, state agent.State) time.Duration {
	if state.Deadline.IsZero() {
		return in.Timeouts.GiveUp
	}
	return state.Deadline.Sub(workflow.Now(ctx))
}

// runTools runs the slow calls of a response, one activity each, side by side, then
// those that hand work off. A reflection has been made when it was written down: the
// next step acknowledges it. A tool that fails is told to the model by the next step;
// only a cancellation and the deadline end the run here.
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

// toolStep is a call of a tool. One of a sandboxed worker is on their queue, and never
// made twice; a worker that takes nothing for as long as a heartbeat is not there.
func toolStep(in contract.AgentInput, left time.Duration, call agent.CallRef) workflow.ActivityOptions {
	options := agentStep(in, left, "tool "+call.Tool)
	if call.Class == agent.Isolated {
		options.TaskQueue, options.ScheduleToStartTimeout = contract.QueueSandbox, in.Timeouts.Heartbeat
		options.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	}
	return options
}

// closeAgent makes the run's row say how it ended when no step did, and returns
// what the row says. A run that was cancelled is answered, too: somebody may wait
// for that.
func closeAgent(
	ctx workflow.Context, in contract.AgentInput, reason agent.Reason, cause error,
) (contract.AgentResult, error) {
	code, _ := explain(cause)
	closing := contract.CloseAgentInput{RunRef: in.RunRef, Reason: reason, Detail: code, Base: in.Base}
	return closeRun[contract.CloseAgentInput, contract.AgentResult](
		ctx, in.Timeouts, contract.CloseAgent, closing, nil)
}

// toolNames lists the tools of a response before what comes next.
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
