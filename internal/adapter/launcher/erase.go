package launcher

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/txscope"
	"cairn/internal/service/erase"
)

// Erase starts the workflow of an erasure unless it is running or has completed.
func (d Driver) Erase(ctx context.Context, e contract.EraseStart) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	o := options(e.WorkspaceKey, "", "erase", e.WorkflowID(), e.Conversation,
		fmt.Sprintf("erase · erasure %d", e.Erasure))
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY // it has no attempts
	_, err := d.begin(ctx, o, contract.Erase,
		contract.EraseInput{Erasure: e.Erasure, Conversation: e.Conversation,
			Timeouts: contract.StepTimeouts{Heartbeat: d.Heartbeat}})
	return err
}

// openPage is the number of open workflows per list request.
const openPage = 100

// Open lists some of the open workflows of a workspace, except those that erase. If conversations is
// not empty, it lists only theirs.
func (d Driver) Open(ctx context.Context, workspaceKey string, conversations []int64) ([]erase.Execution, error) {
	if err := txscope.Reject(ctx); err != nil {
		return nil, err
	}
	if d.Client == nil {
		return nil, fault.New(fault.Unavailable, "no Temporal server to list the open workflows",
			"set TEMPORAL_ADDRESS")
	}
	keys := run.IncarnationKeys(workspaceKey) // also those from before a restore
	query := fmt.Sprintf("%s in ('%s') and ExecutionStatus = 'Running' and WorkflowType != '%s'",
		contract.AttributeWorkspace, strings.Join(keys, "', '"), contract.Erase)
	if len(conversations) > 0 {
		ids := make([]string, len(conversations))
		for i, c := range conversations {
			ids[i] = fmt.Sprintf("'%d'", c)
		}
		query += fmt.Sprintf(" and %s in (%s)", contract.AttributeConversation, strings.Join(ids, ", "))
	}
	page, err := d.Client.ListWorkflow(ctx,
		&workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: openPage})
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "list the open workflows", "")
	}
	out := make([]erase.Execution, len(page.Executions))
	for i, x := range page.Executions {
		out[i] = erase.Execution{Workflow: x.Execution.WorkflowId, Run: x.Execution.RunId}
	}
	return out, nil
}

// Terminate stops a workflow. It succeeds if the workflow has already ended.
func (d Driver) Terminate(ctx context.Context, x erase.Execution) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	err := d.Client.TerminateWorkflow(ctx, x.Workflow, x.Run, "its data is being erased")
	var ended *serviceerror.NotFound
	if err == nil || errors.As(err, &ended) {
		return nil
	}
	return fault.Wrap(err, fault.Unavailable, "stop a workflow", "")
}
