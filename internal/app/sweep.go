package app

import (
	"context"
	"errors"
	"reflect"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
)

// sweepCatchUp limits how late a missed sweep still starts. One sweep finds all due tasks.
const sweepCatchUp = time.Hour

// keepSweeping creates the Temporal Schedule that starts the sweep and deletes old result pages. It
// retries until the schedule exists or ctx ends.
func (h *App) keepSweeping(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := h.ScheduleSweep(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		h.Log.Warn("sweep schedule creation failed", "error", err, "retry_after", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if _, err := h.Store.ForgetPages(ctx); err != nil && ctx.Err() == nil {
		h.Log.Warn("old sweep pages not deleted", "error", err)
	}
}

// ScheduleSweep creates the Temporal Schedule of the sweep or updates the interval of the existing
// one. A paused schedule stays paused.
func (h *App) ScheduleSweep(ctx context.Context) error {
	o := h.sweepOptions()
	_, err := h.Temporal.ScheduleClient().Create(ctx, o)
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return ignoreNil(err)
	}
	handle := h.Temporal.ScheduleClient().GetHandle(ctx, o.ID)
	return ignoreNil(handle.Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			s := in.Description.Schedule
			if s.Spec != nil && reflect.DeepEqual(s.Spec.Intervals, o.Spec.Intervals) {
				return nil, temporal.ErrSkipScheduleUpdate
			}
			s.Spec = &o.Spec
			s.Action = o.Action
			return &client.ScheduleUpdate{Schedule: &s}, nil
		}}))
}

func ignoreNil(err error) error {
	if err == nil || errors.Is(err, temporal.ErrSkipScheduleUpdate) {
		return nil
	}
	return fault.Wrap(err, fault.Unavailable, "create the schedule of the sweep", "")
}

func (h *App) sweepOptions() client.ScheduleOptions {
	return client.ScheduleOptions{
		ID: contract.SweepSchedule,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: h.Config.SweepEvery}},
			TimeZoneName: "UTC"},
		Action: &client.ScheduleWorkflowAction{ID: contract.SweepSchedule, Workflow: contract.Sweep,
			TaskQueue: contract.QueueMain, WorkflowTaskTimeout: contract.TaskTimeout,
			Args:          []any{contract.SweepInput{Timeouts: contract.StepTimeouts{Heartbeat: h.Config.Heartbeat}}},
			StaticSummary: "due tasks of all workspaces",
			TypedSearchAttributes: temporal.NewSearchAttributes(
				temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet("sweep"))},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: sweepCatchUp,
	}
}
