package launcher

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/txscope"
	"cairn/internal/service/completion"
	"cairn/internal/service/memoryagent"
)

// agents maps the kinds of runs of the memory agents to their workflows.
var agents = map[run.Kind]string{run.Summarize: contract.Summarize, run.Specialist: contract.Specialist,
	run.Retrieve: contract.Retrieve}

func (d Driver) agent(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error) {
	in, err := memoryagent.Input(workspaceKey, r)
	if err != nil {
		return false, err
	}
	o := options(workspaceKey, channel, string(r.Kind), r.WorkflowID, r.Conversation,
		fmt.Sprintf("%s · run %s", r.Kind, r.Ref.Run))
	o.StaticDetails = fmt.Sprintf("See `cairn runs show %s` for the result. Texts are in Postgres, not here.",
		r.Ref.Run)
	if refine, does, err := memoryagent.RefineInput(workspaceKey, r); err != nil || does {
		if err != nil {
			return false, err
		}
		return d.begin(ctx, o, contract.Refine, refine)
	}
	return d.begin(ctx, o, agents[r.Kind], in)
}

func (d Driver) completion(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error) {
	in, err := completion.Input(workspaceKey, r)
	if err != nil {
		return false, err
	}
	o := options(workspaceKey, channel, string(r.Kind), r.WorkflowID, 0, "completion · run "+r.Ref.Run)
	o.TaskQueue = contract.QueueLLM // the queue of its step
	o.StaticDetails = "The request and the reply are in Postgres, not here."
	return d.begin(ctx, o, contract.Completion, in)
}

// Ended waits until a workflow has ended. The outcome is in its run's row. An error means that
// Temporal is unavailable or ctx is done.
func (d Driver) Ended(ctx context.Context, workflowID string) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	err := d.Client.GetWorkflow(ctx, workflowID, "").Get(ctx, nil)
	var ended *temporal.WorkflowExecutionError
	var late *serviceerror.DeadlineExceeded
	switch {
	case err == nil || errors.As(err, &ended):
		return nil
	case errors.As(err, &late): // the server's clock may be ahead of ctx
		return context.DeadlineExceeded
	}
	return deliveryError(ctx, err)
}
