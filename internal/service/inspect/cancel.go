package inspect

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
)

// RunWorkflows reaches the workflows of runs.
type RunWorkflows interface {
	// CancelRun asks a workflow to end. It returns false if there is none.
	CancelRun(ctx context.Context, workflowID string) (bool, error)
}

// Cancelable are the kinds of runs whose workflow can be canceled alone. Turns are canceled by their conversation.
var Cancelable = []run.Kind{run.Distill, run.Reflection, run.Completion, run.Retrieve, run.Build, run.Train, run.Evolve,
	run.Adapt, run.Offload}

// Cancel asks an open run to end: its calls stop, and what it has stored stays. It returns false if the run has ended.
func (s *Runs) Cancel(ctx context.Context, ref run.Ref) (asked bool, err error) {
	var r run.Run
	err = s.Store.ReadRuns(ctx, ref.Workspace, func(ctx context.Context, q RunTx) error {
		r, err = q.RunState(ctx, ref.Run)
		return err
	})
	if err != nil || r.Status == run.Ended {
		return false, err
	}
	if !slices.Contains(Cancelable, r.Kind) {
		return false, fault.New(fault.InvalidArgument, fmt.Sprintf("run %s is a %s and cannot be canceled alone",
			ref.Run, r.Kind), "cancel the turn of its conversation, or open its workflow in Temporal UI")
	}
	if s.Workflows == nil {
		return false, fault.New(fault.Unavailable, "Temporal not configured", "set TEMPORAL_ADDRESS")
	}
	found, err := s.Workflows.CancelRun(ctx, r.WorkflowID)
	if err == nil && !found {
		err = fault.New(fault.Unavailable, "the workflow of the run has not started yet", "try again in a moment")
	}
	return found, err
}
