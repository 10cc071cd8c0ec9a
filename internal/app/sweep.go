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

// sweepCatchUp is how long a missed tick of the sweep is worth making up for: one
// sweep finds all that has come due.
const sweepCatchUp = time.Hour

// keepSweeping sees to it that the one Temporal Schedule exists which starts the
// sweep, and to old pages. It is at it until it succeeds.
func (h *App) keepSweeping(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		err := h.ScheduleSweep(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		h.Log.Warn("the sweep's schedule could not be made", "error", err, "again_in", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if _, err := h.Store.ForgetPages(ctx); err != nil && ctx.Err() == nil {
		h.Log.Warn("old pages of the sweep could not be dropped", "error", err)
	}
}

// ScheduleSweep makes the Temporal Schedule of the sweep, or gives the one that
// is there its interval. Whoever paused it has it paused still.
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
	return fault.Wrap(err, fault.Unavailable, "the schedule of the sweep could not be made", "")
}

func (h *App) sweepOptions() client.ScheduleOptions {
	return client.ScheduleOptions{
		ID: contract.SweepSchedule,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: h.Config.SweepEvery}},
			TimeZoneName: "UTC"},
		Action: &client.ScheduleWorkflowAction{ID: contract.SweepSchedule, Workflow: contract.Sweep,
			TaskQueue: contract.QueueMain, WorkflowTaskTimeout: contract.TaskTimeout,
			Args:          []any{contract.SweepInput{Timeouts: contract.StepTimeouts{Heartbeat: h.Config.Heartbeat}}},
			StaticSummary: "what is due in all workspaces",
			TypedSearchAttributes: temporal.NewSearchAttributes(
				temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet("sweep"))},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: sweepCatchUp,
	}
}
