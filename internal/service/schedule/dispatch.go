package schedule

import (
	"context"
	"fmt"
	"log/slog"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/learning/adaptation"
	"cairn/internal/service/learning/runspec"
)

// Workflows are those that a slot starts. Each is started once for its name.
type Workflows interface {
	Curate(ctx context.Context, slot string, in contract.CurateInput) (began bool, err error)
	Reflect(ctx context.Context, in contract.ReflectionInput) (began bool, err error)
	// Bring takes a stored turn to its conversation.
	Bring(ctx context.Context, workspaceKey string, turn run.Run) error
}

// DueRuns starts the runs that are due in a workspace.
type DueRuns interface {
	AcceptDue(ctx context.Context, d runspec.Due) ([]run.Run, error)
}

// Messages make messages durable.
type Messages interface {
	Accept(ctx context.Context, r conversation.Request) (conversation.AcceptedTurn, error)
}

// SlotStore reads what a slot is about.
type SlotStore interface {
	ReadSlot(ctx context.Context, ws int64, fn func(ctx context.Context, tx SlotTx) error) error
}

// SlotTx is a transaction in the workspace of a slot.
type SlotTx interface {
	ScheduledTask(ctx context.Context, id int64) (Task, bool, error)
	OpenTurn(ctx context.Context, conversation, message string) (bool, error)
}

// DispatcherPorts are what the dispatcher works with.
type DispatcherPorts struct {
	Store     SlotStore
	Workflows Workflows // nil without Temporal
	Rounds    DueRuns   // of evolution
	Updates   DueRuns   // of policies
	Messages  Messages
	Timeouts  contract.StepTimeouts // of a curation
	TurnSpec  func() agentrun.Spec  // that a new turn is pinned to
	LearnSpec func() runspec.Spec   // that a new run that learns is pinned to
	Log       *slog.Logger
}

// Dispatcher starts what is due.
type Dispatcher struct{ DispatcherPorts }

// NewDispatcher makes the dispatcher. A required port that is nil is an error.
func NewDispatcher(p DispatcherPorts) (*Dispatcher, error) {
	err := ports.Require("schedule dispatcher",
		map[string]any{"Store": p.Store, "Rounds": p.Rounds, "Updates": p.Updates, "Messages": p.Messages,
			"TurnSpec": p.TurnSpec, "LearnSpec": p.LearnSpec, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Dispatcher{DispatcherPorts: p}, nil
}

var _ Starter = (*Dispatcher)(nil)

// StartSlot starts the workflow or says the prompt of a slot. What it starts is
// named by the slot, so that a slot which is started twice is started once.
func (s *Dispatcher) StartSlot(ctx context.Context, slot ClaimedFiring) (outcome, reason string, err error) {
	if slot.Kind == Turn {
		return s.say(ctx, slot)
	}
	if s.Workflows == nil {
		return "", "", fault.New(fault.Unavailable, "there is no Temporal server to start it", "set TEMPORAL_ADDRESS")
	}
	if slot.Kind == Evolution {
		return s.evolve(ctx, slot)
	}
	began := false
	if slot.Kind == Curate {
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
	if !began && slot.Why != contract.ReflectionOfSweep { // the sweep's own start may have been lost on its way back
		return Collapsed, slot.Date + " had one before", nil
	}
	return Started, "", nil
}

// evolve starts a round for each bank about which something new is known, and an
// update of its policy when enough outcomes of live decisions are. They are stored
// before any workflow starts.
func (s *Dispatcher) evolve(ctx context.Context, slot ClaimedFiring) (outcome, reason string, err error) {
	rounds, err := s.Rounds.AcceptDue(ctx, s.due(slot, 1))
	if err != nil {
		return "", "", fmt.Errorf("start the rounds: %w", err)
	}
	updates, err := s.Updates.AcceptDue(ctx, s.due(slot, adaptation.MinDecisions))
	switch {
	case err != nil:
		return "", "", fmt.Errorf("start the updates: %w", err)
	case len(rounds)+len(updates) == 0:
		return Empty, "nothing new is known since the last time, agents build the memories, or learning is frozen", nil
	}
	return Started, "", nil
}

func (s *Dispatcher) due(slot ClaimedFiring, least int) runspec.Due {
	return runspec.Due{Workspace: slot.Workspace, WorkspaceKey: slot.WorkspaceKey, Spec: s.LearnSpec(), Least: least}
}

// say has a task's prompt answered as a turn. Once the turn is stored it is
// answered, whoever dies: the relay brings it to its conversation, too.
func (s *Dispatcher) say(ctx context.Context, slot ClaimedFiring) (outcome, reason string, err error) {
	var (
		t     Task
		found bool
		open  bool
	)
	err = s.Store.ReadSlot(ctx, slot.Workspace, func(ctx context.Context, q SlotTx) (err error) {
		if t, found, err = q.ScheduledTask(ctx, slot.Task); err != nil || !found || t.Overlap != OverlapSkip ||
			slot.Why == contract.ReflectionOfBackfill {
			return err
		}
		open, err = q.OpenTurn(ctx, t.Conversation(), slot.Key)
		return err
	})
	switch {
	case err != nil:
		return "", "", fmt.Errorf("read the task: %w", err)
	case !found:
		return Skipped, "the task was removed", nil
	case open:
		return Skipped, "the turn before has no answer yet", nil
	}
	accepted, err := s.Messages.Accept(ctx,
		conversation.Request{Workspace: slot.Workspace, WorkspaceKey: slot.WorkspaceKey, Conversation: t.Conversation(),
			Channel:   t.Channel,
			MessageID: slot.Key, Origin: "scheduled", Text: t.Prompt, MaxTurns: t.MaxTurns, Spec: s.TurnSpec()})
	if err != nil {
		return "", "", fmt.Errorf("accept the turn: %w", err)
	}
	if !accepted.Made && slot.Why != contract.ReflectionOfSweep {
		return Collapsed, "it was said before", nil
	}
	if s.Workflows != nil && !accepted.Turn.Ended {
		if err := s.Workflows.Bring(ctx, slot.WorkspaceKey, accepted.Run); err != nil {
			s.Log.Info("a scheduled turn is stored; the relay will bring it to its conversation", "run",
				accepted.Run.Ref.Run, "error", err)
		}
	}
	return Started, "", nil
}
