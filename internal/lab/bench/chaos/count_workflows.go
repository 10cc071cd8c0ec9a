package chaos

import (
	"context"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/lab/bench/audit"
)

// countWorkflows finds workflows that are open or have failed, and outbox tasks that are not
// delivered.
func (e *experiment) countWorkflows(ctx context.Context, _ []request) error {
	s := &e.result.Stuck
	all, err := audit.Workflows(ctx, e.App.Temporal, e.Stack.TemporalNamespace(), "")
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
