package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"cairn/internal/domain/run"
)

// closePatience is how long Temporal may take, after the end of the last run, to close its
// workflows and to list them as closed.
const closePatience = 20 * time.Second

// look is the poll interval.
const look = 100 * time.Millisecond

// AwaitClosed waits until no workflow of an incarnation of the database is open, at most closePatience.
// The audit reports workflows that are still open then.
func AwaitClosed(ctx context.Context, c client.Client, namespace string, of int) {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	for {
		open, err := Workflows(ctx, c, namespace, "ExecutionStatus = 'Running'")
		open = slices.DeleteFunc(open, func(w *workflow.WorkflowExecutionInfo) bool { return Lost(w, of) })
		if err == nil && len(open) == 0 || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

// Lost reports whether a workflow belongs to an earlier incarnation of the database than of.
func Lost(w *workflow.WorkflowExecutionInfo, of int) bool {
	n := run.IncarnationOfWorkflow(w.GetExecution().GetWorkflowId())
	return n != 0 && n < of
}

// Workflows returns the workflows of a visibility query, or all workflows if which is empty.
func Workflows(ctx context.Context, c client.Client, namespace, which string) (out []*workflow.WorkflowExecutionInfo,
	err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: which, PageSize: 500}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list the workflows: %w", err)
		}
		out = append(out, page.GetExecutions()...)
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return out, nil
		}
	}
}
