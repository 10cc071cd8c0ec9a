package relay

import (
	"context"

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
