package conversation

import (
	"context"
	"log/slog"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
)

// TurnWorkflows starts the workflows of turns.
type TurnWorkflows interface {
	// Answer starts the turn and waits for its end.
	Answer(ctx context.Context, workspaceKey string, turn run.Run) (contract.TurnResult, error)
}

// Waiter waits for runs.
type Waiter interface {
	Await(ctx context.Context, id string, told <-chan struct{}, look func() (run.Status, error)) error
}

// SenderPorts are the dependencies of a Sender.
type SenderPorts struct {
	Service   *Service
	Workflows TurnWorkflows // nil without Temporal
	Waiter    Waiter
	Timeout   time.Duration // for reading a reply
	Log       *slog.Logger
}

// Sender sends messages and waits for their replies.
type Sender struct{ SenderPorts }

// NewSender returns a Sender.
func NewSender(p SenderPorts) *Sender {
	return &Sender{SenderPorts: p}
}

// SendMessage stores a message, starts its turn and waits for the reply until ctx ends. If there is
// no reply by then, it returns the status accepted and no error; the turn continues.
func (s *Sender) SendMessage(ctx context.Context, r Request) (out conversation.TurnStatus, err error) {
	accepted, err := s.Service.Accept(ctx, r)
	if err != nil {
		return out, err
	}
	if !accepted.Turn.Ended && s.Workflows != nil {
		return s.Answer(ctx, r, accepted.Run)
	}
	return s.answerOf(ctx, r)
}

// Answer starts the turn of an accepted message and returns the reply as soon as it is stored,
// which is before the workflow ends. If ctx ends first, it returns the status without a reply. If
// Temporal is unavailable, it does so, too, and the relay starts the turn later.
func (s *Sender) Answer(ctx context.Context, r Request, turn run.Run) (out conversation.TurnStatus, err error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan struct{})
	go func() {
		defer close(told)
		if _, err := s.Workflows.Answer(waiting, r.WorkspaceKey, turn); err != nil && waiting.Err() == nil {
			s.Log.Warn("turn start deferred to relay", "run", turn.Ref.Run, "error", err)
			cancel()
		}
	}()
	_ = s.Waiter.Await(waiting, turn.Ref.Run, told, func() (run.Status, error) {
		out, err = s.answerOf(ctx, r)
		return run.Status(out.Status), nil // on a database error, the next poll may succeed
	})
	if err == nil && out.Status == conversation.StatusEnded {
		return out, nil
	}
	return s.answerOf(ctx, r)
}

// answerOf reads the status of a message, even if ctx has ended.
func (s *Sender) answerOf(ctx context.Context, r Request) (conversation.TurnStatus, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	return s.Service.Answer(ctx, r.Workspace, r.Conversation, r.MessageID)
}
