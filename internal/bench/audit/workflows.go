package audit

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// closePatience is what Temporal has, after the last run has ended, to close the
// workflows that carried them and to show it.
const closePatience = 20 * time.Second

// look is how often Temporal is asked.
const look = 100 * time.Millisecond

// AwaitClosed waits until no workflow is open; one that stays so is for the
// audit to tell.
func AwaitClosed(ctx context.Context, c client.Client, namespace string) {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	for {
		open, err := Workflows(ctx, c, namespace, "ExecutionStatus = 'Running'")
		if err == nil && len(open) == 0 || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

// Workflows are those that a visibility query finds; all of them when it is empty.
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
