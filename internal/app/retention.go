package app

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"cairn/internal/domain/fault"
)

// Times of the removal of old records.
const (
	firstPrune = time.Minute // after the start of a worker
	pruneEvery = time.Hour
)

// keepPruning removes records that are older than their retention until ctx ends.
func (h *App) keepPruning(ctx context.Context) {
	next := time.NewTimer(firstPrune)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if err := h.Relay.Prune(ctx); err != nil && ctx.Err() == nil {
			h.Log.Warn("removal of old records failed", "error", err)
		}
		next.Reset(pruneEvery)
	}
}

// checkRetention returns an error if records that a workflow can need are removed before Temporal
// removes the workflow: a reset runs its activities again. A server that does not reply is reported by
// the start of the worker.
func (h *App) checkRetention(ctx context.Context) error {
	d, err := h.Temporal.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: h.Config.TemporalNamespace})
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	least := d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	for _, r := range []struct {
		name string
		keep time.Duration
	}{
		{"CAIRN_RETENTION_CALLS", h.Config.RetentionCalls},
		{"CAIRN_RETENTION_RUNS", h.Config.RetentionRuns},
		{"CAIRN_RETENTION_OPLOG", h.Config.RetentionOplog},
	} {
		if r.keep != 0 && r.keep < least {
			return fault.New(fault.Misconfigured, fmt.Sprintf("%s is %s, but the Temporal namespace %s keeps "+
				"workflows for %s, which can need these records", r.name, r.keep, h.Config.TemporalNamespace, least),
				fmt.Sprintf("set %s to at least %s, or to 0", r.name, least))
		}
	}
	return nil
}
