// Package inspect reads runs, conversations and workspaces for users and programs.
package inspect

import (
	"context"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
)

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
