package completion

import (
	"context"
	"time"

	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
)

// Store reads the requests of earlier turns. Each method is one transaction.
type Store interface {
	// Same returns the latest turn of an equal request; Times is 0 without one.
	Same(ctx context.Context, ws int64, body [32]byte) (Same, error)
	// Before returns up to max turns with a history, each the last of its conversation and ended, the
	// latest conversation first.
	Before(ctx context.Context, ws int64, thread string, history [32]byte, max int) ([]Turn, error)
	// Last returns the last turn of a conversation. Its Number is 0 if the conversation has no turns;
	// known is false if there is no conversation.
	Last(ctx context.Context, ws int64, conversation string) (last Turn, known bool, err error)
	Outcome(ctx context.Context, ref run.Ref) (Outcome, error)
	// Watch records the latest request that waits for a reply.
	Watch(ctx context.Context, ref run.Ref, watcher string) error
	Watcher(ctx context.Context, ref run.Ref) (string, error)
}

// Same is the latest turn of equal requests.
type Same struct {
	Conversation, Message string
	Run                   string
	Ended                 bool
	Failed                bool          // it has no reply of a model
	Age, EndedFor         time.Duration // since the request was accepted, and since the end of the turn
	Times                 int           // number of the request among equal ones
}

// Turn is a turn that a request may continue.
type Turn struct {
	Conversation string
	Number       int
	Run          string
	Ended        bool
	Interrupted  bool
	Reply        string
	Said         string // the user's message, only from Last
}

// Outcome is what a client gets of a turn besides its text.
type Outcome struct {
	Ended         bool
	Detail        string // of a failure
	Finish        string // of the last model response: stop, length or content_filter
	Calls         []transcript.ToolCall
	Input, Output int64 // tokens of all model calls
}

// Inbox accepts messages.
type Inbox interface {
	Accept(ctx context.Context, r conversation.Request) (conversation.AcceptedTurn, error)
	Answer(ctx context.Context, ws int64, conversation, message string) (conversation.TurnStatus, error)
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
