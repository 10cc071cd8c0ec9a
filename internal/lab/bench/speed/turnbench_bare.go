package speed

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// turnBareQueue is the task queue of the bare workflows. This process serves it.
const turnBareQueue = "bench-bare"

// Names of the bare workflows.
const (
	bareParent = "BareConversation"
	bareChild  = "BareTurn"
	bareUpdate = "turn"
)

// turnServeBare runs the worker of the bare workflows until stop is called.
func turnServeBare(c client.Client) (stop func(), err error) {
	w := worker.New(c, turnBareQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(bareConversation, workflow.RegisterOptions{Name: bareParent})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error {
		return nil
	}, workflow.RegisterOptions{Name: bareChild})
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("start the bare workflows' worker: %w", err)
	}
	return w.Stop, nil
}

// bareConversation starts a child for each update and has no other effects. It has the options
// of a conversation and stays open until the server stops.
func bareConversation(ctx workflow.Context) error {
	err := workflow.SetUpdateHandler(ctx, bareUpdate, func(ctx workflow.Context, id string) error {
		child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID:            id,
			WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
			ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
			WaitForCancellation:   true,
			StaticSummary:         "turn",
			TypedSearchAttributes: workflow.GetTypedSearchAttributes(ctx),
		})
		return workflow.ExecuteChildWorkflow(child, bareChild).Get(child, nil)
	})
	if err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return false })
}

// bareTurn runs a turn without effects and returns the ID of its child.
func (c *thread) bareTurn(ctx context.Context) (child string, err error) {
	c.bare++
	child = fmt.Sprintf("bare-turn/%s/%d", c.name, c.bare)
	start := c.lab.host.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: c.bareID(), TaskQueue: turnBareQueue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "conversation", StaticDetails: "Turns are children.",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeWorkspace).ValueSet(c.workspace.Key),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet("conversation"),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeChannel).ValueSet("chat"),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeConversation).ValueSet(c.name)),
	}, bareParent)
	handle, err := c.lab.host.Temporal.UpdateWithStartWorkflow(ctx,
		client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{UpdateID: child, UpdateName: bareUpdate,
				WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{child}}})
	if err != nil {
		return "", fmt.Errorf("update the bare workflow: %w", err)
	}
	return child, handle.Get(ctx, nil)
}

func (c *thread) bareID() string { return "bare/" + c.name }
