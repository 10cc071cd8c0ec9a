package launcher

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
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

// remember starts the workflow that adds the sessions of a subject with one model call. If the workflow runs, an
// announced session is signaled; else it is left alone, because the relay looks again.
func (d Driver) remember(ctx context.Context, in contract.RememberInput, announced bool) error {
	o := options(in.WorkspaceKey, "", "remember", contract.RememberID(in.WorkspaceKey, in.Subject), 0,
		"add sessions to memory")
	o.TaskQueue = contract.QueueLLM // the queue of its step
	o.StaticDetails = "See `cairn runs list` for the runs. Texts are in Postgres, not here."
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	var err error
	if announced {
		_, err = d.Client.SignalWithStartWorkflow(ctx, o.ID, contract.SignalRemember, nil, o, contract.Remember, in)
	} else {
		_, err = d.begin(ctx, o, contract.Remember, in)
	}
	return deliveryError(ctx, err)
}

func (d Driver) agent(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error) {
	if in, does, err := memoryagent.RememberInput(workspaceKey, r); err != nil || does {
		if err != nil {
			return false, err
		}
		return false, d.remember(ctx, in, false)
	}
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
