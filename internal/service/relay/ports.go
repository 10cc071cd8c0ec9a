package relay

import (
	"context"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/search"
)

// Driver starts workflows in Temporal.
type Driver interface {
	// Drive starts a run's workflow unless it is running. closed means that it has run and closed.
	Drive(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error)
	Erase(ctx context.Context, e contract.EraseStart) error
	Tell(ctx context.Context, workspaceKey string, conversation int64, s contract.SettingsInput) error
}

// Channels handles what chat platforms have sent, and delivers what they get.
type Channels interface {
	Handle(ctx context.Context, ws access.Workspace, route int64) error
	// Report sends the result of a run to a chat. Done is false until the run has ended.
	Report(ctx context.Context, ws access.Workspace, route int64, run string) (done bool, err error)
	// Deliver makes the workflow of a route send what is open. Done means that nothing is.
	Deliver(ctx context.Context, ws access.Workspace, route int64) (done bool, err error)
}

// Imports stores the conversations of session files.
type Imports interface {
	StoreConversations(ctx context.Context, ws access.Workspace, id int64) error
}

// Traces imports the conversations of traces.
type Traces interface {
	// Import imports the spans of a conversation. It also removes the task, unless further spans have arrived.
	Import(ctx context.Context, ws int64, session string) error
}

// Spaces returns the embedding spaces of a workspace.
type Spaces interface {
	// Owed returns the space that the workspace uses, 0 for none, and all spaces in which its
	// documents need vectors, as far as an embedder serves them.
	Owed(ctx context.Context, ws int64) (active int16, needed []search.Space, err error)
}
