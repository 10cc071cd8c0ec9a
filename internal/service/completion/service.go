package completion

import (
	"cairn/internal/domain/ports"
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store      store.Completions
	Responses  store.Completions
	Tasks      store.Completions
	Inbox      *conversation.Service
	Workspaces store.Workspaces
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
