package runspec

import (
	"context"
	"encoding/json"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
)

// Tx reads and writes the rows that all learning runs use in one transaction.
type Tx interface {
	Runs() RunRepository
	Workspace() WorkspaceRepository
	Steps() StepRepository
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id string) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	EnqueueRun(ctx context.Context, id string) error
	StartRun(ctx context.Context, id string) (bool, error)
	EndRun(ctx context.Context, id string, outcome run.Outcome, reason string, result any) error
	PutAgentRun(ctx context.Context, r run.NewAgentRun) (run.Run, error)
	OpenRunOf(ctx context.Context, kind run.Kind, conversation int64) (string, bool, error)
}

// WorkspaceRepository reads the workspace, and stores up to which message its conversations were
// read.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	// WorkspaceKey returns the opaque key of the workspace in workflows.
	WorkspaceKey(ctx context.Context) (string, error)
	Mark(ctx context.Context, conversation int64, kind run.Kind) (int, error)
	SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id string) error
	LockConversation(ctx context.Context, id int64) (conversation.Conversation, error)
}

// StepRepository reads and writes the results of steps.
type StepRepository interface {
	// SaveStepResult stores the result of a step; the first one is kept. The result is erased
	// together with the conversation; 0 means none.
	SaveStepResult(ctx context.Context, run, step string, conversation int64, result json.RawMessage) error
	StepResult(ctx context.Context, run, step string) (json.RawMessage, bool, error)
	// StepResults returns the results of the steps with a name prefix, by name.
	StepResults(ctx context.Context, run, prefix string) (map[string]json.RawMessage, error)
	DropStepResults(ctx context.Context, run, prefix string) error
	// ShownTo records that a prompt of the run contains the conversation.
	ShownTo(ctx context.Context, run string, conversation int64) error
}
