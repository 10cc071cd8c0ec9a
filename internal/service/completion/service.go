package completion

import (
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store      store.Completions
	Inbox      *conversation.Service
	Workspaces store.Workspaces
	Replies    *replystream.Reader
}

// Service accepts requests and reads replies.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{p}
}
