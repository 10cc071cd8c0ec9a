package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/service/conversation"
	"cairn/internal/service/curate"
	"cairn/internal/service/learning/adaptation"
	"cairn/internal/service/schedule"
)

// starter starts what is due.
type starter struct{ h *Host }

// StartSlot starts the workflow or says the prompt of a slot. What it starts is
// named by the slot, so that a slot which is started twice is started once.
func (s starter) StartSlot(ctx context.Context, slot schedule.ClaimedFiring) (outcome, reason string, err error) {
	if slot.Kind == schedule.Turn {
		return s.say(ctx, slot)
	}
	if s.h.Temporal == nil {
		return "", "", fault.New(fault.Unavailable, "there is no Temporal server to start it", "set TEMPORAL_ADDRESS")
	}
	if slot.Kind == schedule.Evolution {
		return s.evolve(ctx, slot)
	}
	began := false
	if slot.Kind == schedule.Curate {
		began, err = s.h.Driver.Curate(ctx, slot.Key, contract.CurateInput{Workspace: slot.Workspace, WorkspaceKey: slot.WorkspaceKey,
			Timeouts: contract.StepTimeouts{Database: s.h.Config.DatabaseStep, Heartbeat: s.h.Config.Heartbeat, GiveUp: giveUp}})
	} else {
		began, err = s.h.Driver.Reflect(ctx, contract.ReflectionInput{Workspace: slot.WorkspaceKey, Date: slot.Date, Zone: slot.Zone, From: slot.ReflectedTo.UTC(), To: slot.At.UTC(), Why: slot.Why})
	}
	if err != nil {
		return "", "", err
	}
	if !began && slot.Why != contract.ReflectionOfSweep { // the sweep's own start may have been lost on its way back
		return schedule.Collapsed, slot.Date + " had one before", nil
	}
	return schedule.Started, "", nil
}

// evolve starts a round for each bank about which something new is known, and an
// update of its policy when enough outcomes of live decisions are. They are stored
// before any workflow starts.
func (s starter) evolve(ctx context.Context, slot schedule.ClaimedFiring) (outcome, reason string, err error) {
	rounds, err := s.h.Learning.Rounds.AcceptDue(ctx, s.h.evolving(slot.Workspace, slot.WorkspaceKey, 1))
	if err != nil {
		return "", "", fmt.Errorf("start the rounds: %w", err)
	}
	updates, err := s.h.Learning.Updates.AcceptDue(ctx, s.h.evolving(slot.Workspace, slot.WorkspaceKey, adaptation.MinDecisions))
	switch {
	case err != nil:
		return "", "", fmt.Errorf("start the updates: %w", err)
	case len(rounds)+len(updates) == 0:
		return schedule.Empty, "nothing new is known since the last time, agents build the memories, or learning is frozen", nil
	}
	return schedule.Started, "", nil
}

// say has a task's prompt answered as a turn. Once the turn is stored it is
// answered, whoever dies: the relay brings it to its conversation, too.
func (s starter) say(ctx context.Context, slot schedule.ClaimedFiring) (outcome, reason string, err error) {
	var (
		t     schedule.Task
		found bool
		open  bool
	)
	err = s.h.Store.WithWorkspace(ctx, slot.Workspace, func(q postgres.Queries) (err error) {
		if t, found, err = q.ScheduledTask(ctx, slot.Task); err != nil || !found || t.Overlap != schedule.OverlapSkip || slot.Why == contract.ReflectionOfBackfill {
			return err
		}
		open, err = q.OpenTurn(ctx, t.Conversation(), slot.Key)
		return err
	})
	switch {
	case err != nil:
		return "", "", fmt.Errorf("read the task: %w", err)
	case !found:
		return schedule.Skipped, "the task was removed", nil
	case open:
		return schedule.Skipped, "the turn before has no answer yet", nil
	}
	accepted, err := s.h.Converse.Accept(ctx, conversation.Request{Workspace: slot.Workspace, WorkspaceKey: slot.WorkspaceKey, Conversation: t.Conversation(), Channel: t.Channel,
		MessageID: slot.Key, Origin: "scheduled", Text: t.Prompt, MaxTurns: t.MaxTurns, Spec: TurnSpec(s.h.Config)})
	if err != nil {
		return "", "", fmt.Errorf("accept the turn: %w", err)
	}
	if !accepted.Made && slot.Why != contract.ReflectionOfSweep {
		return schedule.Collapsed, "it was said before", nil
	}
	if s.h.Temporal != nil && !accepted.Turn.Ended {
		if err := s.h.Driver.Bring(ctx, slot.WorkspaceKey, accepted.Run); err != nil {
			s.h.Log.Info("a scheduled turn is stored; the relay will bring it to its conversation", "run", accepted.Run.Ref.Run, "error", err)
		}
	}
	return schedule.Started, "", nil
}

// sweepCatchUp is how long a missed tick of the sweep is worth making up for: one
// sweep finds all that has come due.
const sweepCatchUp = time.Hour

// keepSweeping sees to it that the one Temporal Schedule exists which starts the
// sweep, and to old pages. It is at it until it succeeds.
func (h *Host) keepSweeping(ctx context.Context) {
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
func (h *Host) ScheduleSweep(ctx context.Context) error {
	o := h.sweepOptions()
	_, err := h.Temporal.ScheduleClient().Create(ctx, o)
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return ignoreNil(err)
	}
	handle := h.Temporal.ScheduleClient().GetHandle(ctx, o.ID)
	return ignoreNil(handle.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
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

func (h *Host) sweepOptions() client.ScheduleOptions {
	return client.ScheduleOptions{
		ID:   contract.SweepSchedule,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: h.Config.SweepEvery}}, TimeZoneName: "UTC"},
		Action: &client.ScheduleWorkflowAction{ID: contract.SweepSchedule, Workflow: contract.Sweep, TaskQueue: contract.QueueMain, WorkflowTaskTimeout: contract.TaskTimeout,
			Args: []any{contract.SweepInput{Timeouts: contract.StepTimeouts{Heartbeat: h.Config.Heartbeat}}}, StaticSummary: "what is due in all workspaces",
			TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet("sweep"))},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: sweepCatchUp,
	}
}

// Insights tells what a workspace used and spent within some days up to now.
func (h *Host) Insights(ctx context.Context, ws int64, days int) (out curate.Insights, err error) {
	err = h.Store.WithWorkspace(ctx, ws, func(q postgres.Queries) (err error) {
		out, err = q.Insights(ctx, time.Duration(days)*24*time.Hour)
		return err
	})
	out.Days = days
	return out, err
}
