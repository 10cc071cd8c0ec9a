package schedule

import (
	"context"
	"fmt"
	"log/slog"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/scheduled"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/live"
	"cairn/internal/store"
)

// Workflows starts the workflows of firings. Each is started once per name.
type Workflows interface {
	Curate(ctx context.Context, slot string, in contract.CurateInput) (began bool, err error)
	Reflect(ctx context.Context, in contract.ReflectionInput) (began bool, err error)
	// Bring starts the workflow of a stored turn.
	Bring(ctx context.Context, workspaceKey string, turn run.Run) error
}

// DueRuns starts the due runs of a workspace.
type DueRuns interface {
	AcceptDue(ctx context.Context, d bank.Due) ([]run.Run, error)
}

// DispatcherPorts are the dependencies of a Dispatcher.
type DispatcherPorts struct {
	Store     *store.Store
	Workflows Workflows // nil without Temporal
	Rounds    DueRuns   // evolution rounds of banks
	Updates   DueRuns   // updates of policies
	Messages  *conversation.Service
	Timeouts  contract.StepTimeouts // of a curation
	TurnSpec  func() agentrun.Spec  // returns the configuration of a new turn
	LearnSpec func() bank.RunSpec   // returns the configuration of a new learning run
	Log       *slog.Logger
}

// Dispatcher starts due work.
type Dispatcher struct{ DispatcherPorts }

// NewDispatcher returns a Dispatcher.
func NewDispatcher(p DispatcherPorts) *Dispatcher {
	return &Dispatcher{DispatcherPorts: p}
}

var _ Starter = (*Dispatcher)(nil)

// StartSlot starts the workflow of a slot or sends its prompt. The workflow or message is named
// after the slot, so that repeated calls start it once.
func (s *Dispatcher) StartSlot(ctx context.Context, slot scheduled.ClaimedFiring) (outcome, reason string, err error) {
	if slot.Kind == scheduled.Turn {
		return s.say(ctx, slot)
	}
	if s.Workflows == nil {
		return "", "", fault.New(fault.Unavailable, "Temporal is not configured", "set TEMPORAL_ADDRESS")
	}
	if slot.Kind == scheduled.Evolution {
		return s.evolve(ctx, slot)
	}
	began := false
	if slot.Kind == scheduled.Curate {
		began, err = s.Workflows.Curate(ctx, slot.Key,
			contract.CurateInput{Workspace: slot.Workspace, WorkspaceKey: slot.WorkspaceKey,
				Timeouts: s.Timeouts})
	} else {
		began, err = s.Workflows.Reflect(ctx,
			contract.ReflectionInput{Workspace: slot.WorkspaceKey, Date: slot.Date, Zone: slot.Zone,
				From: slot.ReflectedTo.UTC(), To: slot.At.UTC(), Why: slot.Why})
	}
	if err != nil {
		return "", "", err
	}
	// an earlier start by the sweep may have succeeded without a response
	if !began && slot.Why != contract.ReflectionOfSweep {
		return Collapsed, slot.Date + " already has a reflection", nil
	}
	return Started, "", nil
}

// evolve starts a round for each bank with new data, and an update of its policy if enough outcomes
// of live decisions exist. Both are stored before any workflow starts.
func (s *Dispatcher) evolve(ctx context.Context, slot scheduled.ClaimedFiring) (outcome, reason string, err error) {
	rounds, err := s.Rounds.AcceptDue(ctx, s.due(slot, 1))
	if err != nil {
		return "", "", fmt.Errorf("start the evolution rounds: %w", err)
	}
	updates, err := s.Updates.AcceptDue(ctx, s.due(slot, live.MinDecisions))
	switch {
	case err != nil:
		return "", "", fmt.Errorf("start the policy updates: %w", err)
	case len(rounds)+len(updates) == 0:
		return scheduled.Empty, "no new data, memories are built by agents, or learning is frozen", nil
	}
	return Started, "", nil
}

func (s *Dispatcher) due(slot scheduled.ClaimedFiring, least int) bank.Due {
	return bank.Due{Workspace: slot.Workspace, WorkspaceKey: slot.WorkspaceKey, Spec: s.LearnSpec(), Least: least}
}

// say sends the prompt of a task as a turn. A stored turn is always processed: if the start of its
// workflow fails, the relay starts it.
func (s *Dispatcher) say(ctx context.Context, slot scheduled.ClaimedFiring) (outcome, reason string, err error) {
	var (
		t     scheduled.Task
		found bool
		open  bool
	)
	err = s.Store.InWorkspace(ctx, slot.Workspace, func(ctx context.Context, q store.Tx) (err error) {
		if t, found, err = q.Schedules().ScheduledTask(ctx, slot.Task); err != nil || !found ||
			t.Overlap != scheduled.OverlapSkip ||
			slot.Why == contract.ReflectionOfBackfill {
			return err
		}
		open, err = q.Schedules().OpenTurn(ctx, t.Conversation(), slot.Key)
		return err
	})
	switch {
	case err != nil:
		return "", "", fmt.Errorf("read the task: %w", err)
	case !found:
		return Skipped, "task was removed", nil
	case open:
		return Skipped, "previous turn has no reply yet", nil
	}
	spec := s.TurnSpec()
	spec.Deliver = true // to the chat of the task, else to the home chat
	accepted, err := s.Messages.Accept(ctx,
		conversation.Request{Workspace: slot.Workspace, WorkspaceKey: slot.WorkspaceKey, Conversation: t.Conversation(),
			Channel:   t.Channel,
			MessageID: slot.Key, Origin: "scheduled", Text: t.Prompt, MaxTurns: t.MaxTurns, Spec: spec})
	if err != nil {
		return "", "", fmt.Errorf("accept the turn: %w", err)
	}
	if !accepted.Made && slot.Why != contract.ReflectionOfSweep {
		return Collapsed, "prompt was already sent", nil
	}
	if s.Workflows != nil && !accepted.Turn.Ended {
		if err := s.Workflows.Bring(ctx, slot.WorkspaceKey, accepted.Run); err != nil {
			s.Log.Info("turn start deferred to relay", "run", accepted.Run.Ref.Run, "error", err)
		}
	}
	return Started, "", nil
}
