package runspec

import (
	"context"
	"encoding/json"

	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/memoryagent"
)

// Tx is what every run of learning reads and writes in one transaction.
type Tx interface {
	Runs() RunRepository
	Workspace() WorkspaceRepository
	Steps() StepRepository
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id int64) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	EnqueueRun(ctx context.Context, id int64) error
	StartRun(ctx context.Context, id int64) (bool, error)
	EndRun(ctx context.Context, id int64, outcome run.Outcome, reason string, result any) error
	PutAgentRun(ctx context.Context, r memoryagent.NewRun) (run.Run, error)
	OpenRunOf(ctx context.Context, kind run.Kind, conversation int64) (int64, bool, error)
}

// WorkspaceRepository reads the workspace, and writes how far its conversations are
// read.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	// WorkspaceKey stands for the workspace in workflows.
	WorkspaceKey(ctx context.Context) (string, error)
	Mark(ctx context.Context, conversation int64, kind run.Kind) (int, error)
	SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id int64) error
	LockConversation(ctx context.Context, id int64) (agentrun.Conversation, error)
}

// StepRepository reads and writes the results of a run's steps.
type StepRepository interface {
	// SaveStepResult keeps what a step came to; the first result stays. Conversation
	// is what the result is erased with; 0 is none.
	SaveStepResult(ctx context.Context, run int64, step string, conversation int64, result json.RawMessage) error
	StepResult(ctx context.Context, run int64, step string) (json.RawMessage, bool, error)
	// StepResults are those of the steps whose name begins with prefix, by name.
	StepResults(ctx context.Context, run int64, prefix string) (map[string]json.RawMessage, error)
	DropStepResults(ctx context.Context, run int64, prefix string) error
	// ShownTo notes that a run has shown a conversation to a model.
	ShownTo(ctx context.Context, run, conversation int64) error
}
