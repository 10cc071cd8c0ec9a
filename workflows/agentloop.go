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
	state, effect := agent.Next(agent.State{}, agent.Begin{At: workflow.Now(ctx), Budget: in.Budget})
	called := ""    // by the last response: for the line that Temporal UI shows
	var cause error // of an end that no step has made
	if err := workflow.SetQueryHandler(ctx, contract.QueryState, func() (agent.State, error) { return state, nil }); err != nil {
		return contract.AgentResult{}, err
	}
	for {
		switch todo := effect.(type) {
		case agent.Step:
			out, err := step(ctx, in, state, todo, called)
			if err == nil && out.Overflow != nil { // nothing was asked: the clock begins when the conversation fits
				if err := shorten(ctx, in, *out.Overflow); err != nil && ctx.Err() != nil {
					state, effect = agent.Next(state, agent.Cancelled{})
					continue
				}
				in.Base.Compacts = false // once: what does not fit even now is shown as far as it does
				state, effect = agent.Next(agent.State{}, agent.Begin{At: workflow.Now(ctx), Budget: in.Budget})
				continue
			}
			if err == nil && out.Ended != nil {
				return *out.Ended, nil
			}
			called, cause = names(out.Calls), err
			state, effect = agent.Next(state, happened(ctx, err, out.StepDone))
		case agent.RunTools:
			err := runTools(ctx, in, state, todo)
			state, effect = agent.Next(state, happened(ctx, err, agent.ToolsRan{}))
		case agent.End:
			return closeAgent(ctx, in, todo.Reason, cause)
		}
	}
}

// happened is what an activity's end means for the loop. One that failed after the
// run was cancelled, before it heard of it, has been cancelled, too.
func happened(ctx workflow.Context, err error, done agent.Event) agent.Event {
	var late *temporal.TimeoutError
	switch {
	case err == nil:
		return done
	case temporal.IsCanceledError(err), ctx.Err() != nil:
		return agent.Cancelled{}
	case errors.As(err, &late), errors.Is(err, errLate):
		return agent.DeadlinePassed{}
	}
	return agent.Failed{Provider: true}
}

// step asks for one model response.
func step(ctx workflow.Context, in contract.AgentInput, state agent.State, todo agent.Step, called string) (out contract.StepResult, err error) {
	left := remaining(ctx, in, state)
	if left <= 0 {
		return out, errLate
	}
	summary := fmt.Sprintf("step %d of %d · %smodel", todo.N, in.Budget.Max, called)
	if todo.Toolless {
		summary += " (final answer)"
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: in.Queue, StartToCloseTimeout: min(in.Pace.Model, left), ScheduleToCloseTimeout: left, HeartbeatTimeout: in.Pace.Heartbeat, Summary: summary,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second},
	})
	err = workflow.ExecuteActivity(ctx, contract.Step, contract.StepInput{RunRef: in.RunRef, Step: todo, Base: in.Base}).Get(ctx, &out)
	return out, err
}

// errLate is a deadline that has passed before anything was begun.
var errLate = errors.New("the time of the run is over")

// remaining is how long the run may still go on.
func remaining(ctx workflow.Context, in contract.AgentInput, state agent.State) time.Duration {
	if state.Deadline.IsZero() {
		return in.Pace.GiveUp
	}
	return state.Deadline.Sub(workflow.Now(ctx))
}

// runTools runs the slow calls of a response, one activity each, side by side,
// those of sandboxed workers on their queue and never twice, then those that hand work off. A reflection has been made when it was written
// down: the next step acknowledges it. A tool that fails is told to the model by the next step; only a cancellation and
// the deadline end the run here.
func runTools(ctx workflow.Context, in contract.AgentInput, state agent.State, todo agent.RunTools) error {
	left := remaining(ctx, in, state)
	if left <= 0 {
		return errLate
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
			options := workflow.ActivityOptions{
				TaskQueue: in.Queue, StartToCloseTimeout: min(in.Pace.Model, left), ScheduleToCloseTimeout: left, HeartbeatTimeout: in.Pace.Heartbeat, Summary: "tool " + call.Tool,
				RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second},
			}
			if call.Class == agent.Isolated { // a worker that takes nothing for as long is not there
				options.TaskQueue, options.ScheduleToStartTimeout = contract.QueueSandbox, in.Pace.Heartbeat
				options.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
			}
			ctx = workflow.WithActivityOptions(ctx, options)
			_ = workflow.ExecuteActivity(ctx, contract.RunTool, contract.ToolInput{RunRef: in.RunRef, Step: state.Step, Position: call.Index, Base: in.Base}).Get(ctx, nil)
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

// closeAgent makes the run's row say how it ended when no step did, and returns
// what the row says. A run that was cancelled is closed, too: somebody may wait
// for its answer.
func closeAgent(ctx workflow.Context, in contract.AgentInput, reason agent.Reason, cause error) (out contract.AgentResult, err error) {
	code, _ := explain(cause)
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = database(ctx, in.Pace, "close the run: "+string(reason))
	err = workflow.ExecuteActivity(ctx, contract.CloseAgent, contract.CloseAgentInput{RunRef: in.RunRef, Reason: reason, Detail: code, Base: in.Base}).Get(ctx, &out)
	return out, err
}

// names lists the tools of a response before what comes next.
func names(calls []agent.CallRef) string {
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
