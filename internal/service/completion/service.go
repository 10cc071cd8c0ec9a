package completion

import (
	"context"

	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
)

// Store reads the requests of earlier turns. Each method is one transaction.
type Store interface {
	// Same returns the latest turn of an equal request; Times is 0 without one.
	Same(ctx context.Context, ws int64, body [32]byte) (domainconversation.SameRequest, error)
	// Before returns up to max turns with a history, each the last of its conversation and ended, the
	// latest conversation first.
	Before(ctx context.Context, ws int64, thread string, history [32]byte, max int) ([]domainconversation.EarlierTurn,
		error)
	// Last returns the last turn of a conversation. Its Number is 0 if the conversation has no turns;
	// known is false if there is no conversation.
	Last(ctx context.Context, ws int64, conversation string) (last domainconversation.EarlierTurn, known bool,
		err error)
	Outcome(ctx context.Context, ref run.Ref) (domainconversation.TurnOutcome, error)
	// Watch records the latest request that waits for a reply.
	Watch(ctx context.Context, ref run.Ref, watcher string) error
	Watcher(ctx context.Context, ref run.Ref) (string, error)
}

// Inbox accepts messages.
type Inbox interface {
	Accept(ctx context.Context, r conversation.Request) (conversation.AcceptedTurn, error)
	Answer(ctx context.Context, ws int64, conversation, message string) (domainconversation.TurnStatus, error)
}

// Workspaces reads the settings of workspaces.
type Workspaces interface {
	Settings(ctx context.Context, ws int64) (settings.Settings, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store      Store
	Responses  Responses
	Tasks      Tasks
	Inbox      Inbox
	Workspaces Workspaces
	Replies    *replystream.Reader
}

// Service accepts requests and reads replies.
type Service struct{ Ports }

// New returns a Service. It fails if a port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("completion", map[string]any{"Store": p.Store, "Responses": p.Responses, "Tasks": p.Tasks,
		"Inbox": p.Inbox, "Workspaces": p.Workspaces, "Replies": p.Replies})
	if err != nil {
		return nil, err
	}
	return &Service{p}, nil
}
