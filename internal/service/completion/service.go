package completion

import (
	"context"

	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/settings"
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
	"cairn/internal/store"
)

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
	Store      store.Completions
	Responses  store.Completions
	Tasks      store.Completions
	Inbox      Inbox
	Workspaces Workspaces
	Replies    *replystream.Reader
}

// Service accepts requests and reads replies.
type Service struct{ Ports }

// New returns a Service. It fails if a port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("completion", map[string]any{"Store": p.Store.Store, "Responses": p.Responses.Store,
		"Tasks": p.Tasks.Store,
		"Inbox": p.Inbox, "Workspaces": p.Workspaces, "Replies": p.Replies})
	if err != nil {
		return nil, err
	}
	return &Service{p}, nil
}
