// Package launcher starts the workflows of accepted runs. Starting is safe to repeat: the workflow
// ID belongs to the run, a running workflow is left alone, and a repeated workflow finds in
// Postgres that its work is done.
package launcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/txscope"
	"cairn/internal/service/distill"
	"cairn/internal/service/memoryagent"
)

// Driver starts workflows through a Temporal client.
type Driver struct {
	Client client.Client
	Limits contract.ConversationLimits // of new conversations

	// Earlier returns the turns of a conversation before a number that have not ended, in their order; nil means none.
	Earlier func(ctx context.Context, ws, conversation int64, number int) ([]run.Run, error)

	Heartbeat time.Duration // time after which a silent worker that erases is considered dead
}

// Start starts r's workflow unless it is running or has closed.
func (d Driver) Start(ctx context.Context, workspaceKey, channel string, r run.Run) error {
	if r.Kind == run.Summarize {
		if err := txscope.Reject(ctx); err != nil {
			return err
		}
		if in, does, err := memoryagent.RememberInput(workspaceKey, r); err != nil || does {
			if err != nil {
				return err
			}
			return d.remember(ctx, in, true)
		}
	}
	_, err := d.Drive(ctx, workspaceKey, channel, r)
	return err
}

// Drive starts r's workflow unless it is running. closed means that it has run and closed. Its ID is
// then not used again.
func (d Driver) Drive(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error) {
	if err := txscope.Reject(ctx); err != nil {
		return false, err
	}
	switch r.Kind {
	case run.Distill:
		return d.distill(ctx, workspaceKey, channel, r)
	case run.Turn:
		return d.resume(ctx, workspaceKey, r)
	case run.Nudge:
		return d.review(ctx, workspaceKey, r)
	case run.Summarize, run.Specialist, run.Retrieve:
		return d.agent(ctx, workspaceKey, channel, r)
	case run.Completion:
		return d.completion(ctx, workspaceKey, channel, r)
	case run.Offload:
		return d.offload(ctx, workspaceKey, channel, r)
	case run.Reflection:
		return d.reflection(ctx, workspaceKey, r)
	case run.Build, run.Train, run.Evolve, run.Adapt, run.Probe, run.Evaluate:
		return d.memorySkills(ctx, workspaceKey, channel, r)
	}
	return false, fmt.Errorf("start run %s: unknown kind %q", r.Ref.Run, r.Kind)
}

// options returns the start options of a run's workflow.
func options(workspaceKey, channel, kind, id string, conversation int64, summary string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: contract.QueueMain,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, // a running one
		WorkflowExecutionErrorWhenAlreadyStarted: true,                                           // a closed one
		WorkflowTaskTimeout:                      contract.TaskTimeout,
		StaticSummary:                            summary,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeWorkspace).ValueSet(workspaceKey),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet(kind),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeChannel).ValueSet(channel),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeConversation).ValueSet(fmt.Sprint(conversation))),
	}
}

func (d Driver) distill(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error) {
	o := options(workspaceKey, channel, string(r.Kind), r.WorkflowID, r.Conversation,
		fmt.Sprintf("distill a conversation · run %s", r.Ref.Run))
	o.TaskQueue = contract.QueueLLM // the queue of its steps
	o.StaticDetails = fmt.Sprintf("See `cairn runs show %s` for the result. Texts are in Postgres, not here.",
		r.Ref.Run)
	return d.begin(ctx, o, contract.Distill, distill.Input(workspaceKey, r))
}

// begin starts a workflow unless it is running. closed means that it has run and closed.
func (d Driver) begin(ctx context.Context, o client.StartWorkflowOptions, workflow string, in any) (closed bool,
	err error) {
	_, err = d.Client.ExecuteWorkflow(ctx, o, workflow, in)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) { // a running one is no error: see options
		return true, nil
	}
	if err != nil {
		return false, unavailable(err)
	}
	return false, nil
}

// unavailable reports that Temporal is unavailable. The relay starts the stored run later.
func unavailable(err error) error {
	return fault.Wrap(err, fault.Unavailable, "start the workflow",
		"the run is stored and starts when Temporal is available again; run `cairn doctor` to check the servers")
}
