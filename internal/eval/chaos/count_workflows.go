package chaos

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// closePatience is what Temporal has, after the last run has ended, to close the
// workflows that carried them and to show it.
const closePatience = 20 * time.Second

// awaitClosed waits until no workflow is open; one that stays so is for the
// audit to tell.
func (e *experiment) awaitClosed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	for {
		open, err := e.workflows(ctx, "ExecutionStatus = 'Running'")
		if err == nil && len(open) == 0 || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

// countWorkflows asks Temporal what is open and what did not end well. The
// outbox is the other half: nothing may be left to be driven.
func (e *experiment) countWorkflows(ctx context.Context, _ []request) error {
	s := &e.result.Stuck
	all, err := e.workflows(ctx, "")
	if err != nil {
		return err
	}
	s.Workflows = len(all)
	for _, w := range all {
		id := w.GetExecution().GetWorkflowId()
		switch w.GetStatus() {
		case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
			e.found(&s.Open, "workflow %s is open", id)
		default:
			e.found(&s.Failed, "workflow %s is %s", id, w.GetStatus())
		}
	}
	return e.foundMany(ctx, &s.Duties, "duties")
}

func (e *experiment) workflows(ctx context.Context, which string) (out []*workflow.WorkflowExecutionInfo, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: e.stack.TemporalNamespace(), Query: which, PageSize: 500}
	for {
		page, err := e.host.Temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list the workflows: %w", err)
		}
		out = append(out, page.GetExecutions()...)
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return out, nil
		}
	}
}
