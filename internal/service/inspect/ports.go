// Package inspect reads runs, conversations and workspaces for users and programs.
package inspect

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
	"cairn/internal/domain/transcript"
)

// RunStore opens transactions to read runs.
type RunStore interface {
	ReadRuns(ctx context.Context, ws int64, fn func(ctx context.Context, tx RunTx) error) error
}

// RunTx reads runs and related rows.
type RunTx interface {
	RunReader
	TurnReader
}

// RunReader reads runs.
type RunReader interface {
	Run(ctx context.Context, id string) (run.Run, error)
	RunState(ctx context.Context, id string) (run.Run, error)
	Runs(ctx context.Context, max int) ([]run.Summary, error)
	Usage(ctx context.Context, id string) (run.Usage, error)
	Calls(ctx context.Context, ref run.Ref) ([]run.Call, error)
	// Exchanges lists the calls of a run, or of one of its steps, with their requests and replies.
	Exchanges(ctx context.Context, ref run.Ref, step string) ([]readmodel.StoredExchange, error)
	AgentProgress(ctx context.Context, id string) (conversation.Progress, error)
}

// TurnReader reads the turn of a run.
type TurnReader interface {
	ConversationName(ctx context.Context, id int64) (name, title string, err error)
	TurnOfRun(ctx context.Context, id string) (conversation.Turn, error)
	Record(ctx context.Context, id string) (conversation.Record, error)
	MessageText(ctx context.Context, conversation int64, seq int) (string, error)
}

// ConversationStore opens transactions to read conversations.
type ConversationStore interface {
	ReadConversations(ctx context.Context, ws int64, fn func(ctx context.Context, tx ConversationTx) error) error
}

// ConversationTx reads conversations.
type ConversationTx interface {
	ConversationView(ctx context.Context, name string) (conversation.View, error)
	Reviews(ctx context.Context, conversation int64, max int) ([]conversation.ReviewView, error)
	Lines(ctx context.Context, conversation int64, after, max int) ([]conversation.Line, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	Statements(ctx context.Context, conversation int64) ([]transcript.Statement, error)
	TurnOf(ctx context.Context, conversation int64, message string) (conversation.Turn, bool, error)
	Run(ctx context.Context, id string) (run.Run, error)
}

// WorkspaceStore reads workspaces and their settings.
type WorkspaceStore interface {
	// Workspace finds a workspace by the caller's name for it. If make is set, it creates a missing one.
	Workspace(ctx context.Context, name string, make bool) (tenancy.Workspace, error)
	Insights(ctx context.Context, ws int64, span time.Duration) (readmodel.Insights, error)
	Counts(ctx context.Context, ws int64) (dumpfile.Counts, error)
	Entities(ctx context.Context, ws int64, max int) ([]readmodel.Entity, error)
	Settings(ctx context.Context, ws int64) (settings.Settings, error)
	// PatchSettings applies a JSON merge patch. Check validates the resulting settings before the commit.
	PatchSettings(ctx context.Context, ws int64, patch json.RawMessage,
		check func(settings.Settings) error) (settings.Settings, error)
}
