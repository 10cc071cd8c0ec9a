package conversation

import (
	"context"
	"log/slog"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
)

// TurnWorkflows bring turns to their conversations.
type TurnWorkflows interface {
	// Answer returns when the turn has ended.
	Answer(ctx context.Context, workspaceKey string, turn run.Run) (contract.TurnResult, error)
}

// Waiter waits for runs.
type Waiter interface {
	Await(ctx context.Context, id int64, told <-chan struct{}, look func() (run.Status, error)) error
}

// SenderPorts are what the sender works with.
type SenderPorts struct {
	Service   *Service
	Workflows TurnWorkflows // nil without Temporal
	Waiter    Waiter
	Timeout   time.Duration // of reading an answer
	Log       *slog.Logger
}

// Sender sends messages and waits for their answers.
type Sender struct{ SenderPorts }

// NewSender makes the sender. A required port that is nil is an error.
func NewSender(p SenderPorts) (*Sender, error) {
	err := ports.Require("message sender", map[string]any{"Service": p.Service, "Waiter": p.Waiter, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Sender{SenderPorts: p}, nil
}

// SendMessage makes a message durable, brings it to its conversation and waits for the
// answer until ctx ends. A message that is stored and not answered yet is no
// error: its status tells, and it will be.
func (s *Sender) SendMessage(ctx context.Context, r Request) (out TurnStatus, err error) {
	accepted, err := s.Service.Accept(ctx, r)
	if err != nil {
		return out, err
	}
	if !accepted.Turn.Ended && s.Workflows != nil {
		return s.Answer(ctx, r, accepted.Run)
	}
	return s.answerOf(ctx, r)
}

// Answer brings an accepted message to its conversation and returns its answer as
// soon as that is stored, which is before its turn's workflow has ended. It
// returns the message without one when ctx ends before, or when Temporal cannot be
// asked: then the relay brings it.
func (s *Sender) Answer(ctx context.Context, r Request, turn run.Run) (out TurnStatus, err error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan struct{})
	go func() {
		defer close(told)
		if _, err := s.Workflows.Answer(waiting, r.WorkspaceKey, turn); err != nil && waiting.Err() == nil {
			s.Log.Warn("a turn is stored and not answered yet; the relay will bring it to its conversation", "run",
				turn.Ref.Run, "error", err)
			cancel()
		}
	}()
	_ = s.Waiter.Await(waiting, turn.Ref.Run, told, func() (run.Status, error) {
		out, err = s.answerOf(ctx, r)
		return run.Status(out.Status), nil // of a database that is away the next look may be better
	})
	if err == nil && out.Status == StatusEnded {
		return out, nil
	}
	return s.answerOf(ctx, r)
}

// answerOf reads what became of a message, also for a caller whose time is over.
func (s *Sender) answerOf(ctx context.Context, r Request) (TurnStatus, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	return s.Service.Answer(ctx, r.Workspace, r.Conversation, r.MessageID)
}
