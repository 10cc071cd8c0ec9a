package launcher

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
	"cairn/internal/service/erase"
)

// Erase makes sure that the workflow of an erasure runs, or has run.
func (d Driver) Erase(ctx context.Context, workspaceKey string, erasure, conversation int64) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	o := options(workspaceKey, "", "erase", contract.EraseID(workspaceKey, conversation), conversation,
		fmt.Sprintf("erase · erasure %d", erasure))
	return d.begin(ctx, o, contract.Erase,
		contract.EraseInput{Erasure: erasure, Conversation: conversation,
			Timeouts: contract.StepTimeouts{Heartbeat: d.Heartbeat}})
}

// openPage is how many open workflows are listed at once.
const openPage = 100

// Open lists open workflows of a workspace, or of one conversation; those that
// erase are not among them.
func (d Driver) Open(ctx context.Context, workspaceKey string, conversation int64) ([]erase.Execution, error) {
	if err := txscope.Reject(ctx); err != nil {
		return nil, err
	}
	if d.Client == nil {
		return nil, fault.New(fault.Unavailable, "there is no Temporal server to look for open workflows",
			"set TEMPORAL_ADDRESS")
	}
	query := fmt.Sprintf("%s = '%s' and ExecutionStatus = 'Running' and WorkflowType != '%s'",
		contract.AttributeWorkspace, workspaceKey, contract.Erase)
	if conversation != 0 {
		query += fmt.Sprintf(" and %s = '%d'", contract.AttributeConversation, conversation)
	}
	page, err := d.Client.ListWorkflow(ctx,
		&workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: openPage})
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "the open workflows cannot be listed", "")
	}
	out := make([]erase.Execution, len(page.Executions))
	for i, x := range page.Executions {
		out[i] = erase.Execution{Workflow: x.Execution.WorkflowId, Run: x.Execution.RunId}
	}
	return out, nil
}

// Terminate stops a workflow; one that has ended is success.
func (d Driver) Terminate(ctx context.Context, x erase.Execution) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	err := d.Client.TerminateWorkflow(ctx, x.Workflow, x.Run, "what it works on is being erased")
	var ended *serviceerror.NotFound
	if err == nil || errors.As(err, &ended) {
		return nil
	}
	return fault.Wrap(err, fault.Unavailable, "a workflow cannot be stopped", "")
}
