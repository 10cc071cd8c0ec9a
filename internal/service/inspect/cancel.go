package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// RunWorkflows reaches the workflows of runs.
type RunWorkflows interface {
	// CancelRun asks a workflow to end. It returns false if there is none.
	CancelRun(ctx context.Context, workflowID string) (bool, error)
}

// cancelable are the kinds of runs that have a workflow of their own.
var cancelable = []run.Kind{run.Distill, run.Nudge, run.Summarize, run.Specialist, run.Retrieve, run.Completion,
	run.Reflection, run.Offload, run.Build, run.Train, run.Evolve, run.Adapt, run.Probe, run.Evaluate}

// Cancelable returns an error if a run cannot be canceled alone, with what to do instead. The workflow of some runs
// serves other runs, too.
func Cancelable(r run.Run) error {
	var hint string
	switch {
	case r.Kind == run.Turn:
		hint = "cancel the turn of its conversation with `cairn conversations cancel`"
	case r.Kind == run.Flush:
		hint = "cancel the compaction that it belongs to: the run of kind offload of this conversation"
	case r.Kind == run.Summarize && strings.HasPrefix(r.WorkflowID, contract.RememberPrefix):
		hint = "wait: one model call adds this session with others of the same subject"
	case slices.Contains(cancelable, r.Kind):
		return nil
	default:
		hint = "wait until it has ended"
	}
	return fault.New(fault.InvalidArgument, fmt.Sprintf("run %s is a %s and cannot be canceled alone", r.Ref.Run,
		r.Kind), hint)
}

// Cancel asks an open run to end: its calls stop, and what it has stored stays. It returns false if the run has ended.
func (s *Runs) Cancel(ctx context.Context, ref run.Ref) (asked bool, err error) {
	var r run.Run
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q store.Tx) error {
		r, err = q.Runs().RunState(ctx, ref.Run)
		return err
	})
	if err != nil || r.Status == run.Ended {
		return false, err
	}
	if err := Cancelable(r); err != nil {
		return false, err
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
