package memoryagent

import (
	"context"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
)

// Tx reads and writes the rows of one workspace in one transaction.
type Tx interface {
	Runs() RunRepository
	Agents() AgentRepository
	Workspace() WorkspaceRepository
	Transcripts() TranscriptRepository
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id string) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	EnqueueRun(ctx context.Context, id string) error
	Usage(ctx context.Context, id string) (run.Usage, error)
	StartRun(ctx context.Context, id string) (bool, error)
	EndRun(ctx context.Context, id string, outcome run.Outcome, reason string, result any) error
	PutAgentRun(ctx context.Context, r run.NewAgentRun) (run.Run, error)
	Steps(ctx context.Context, id string) ([]run.Step, error)
}

// AgentRepository reads parent and child runs, and stores up to which message runs have read.
type AgentRepository interface {
	Children(ctx context.Context, parent string) ([]run.Run, error)
	OpenRunOf(ctx context.Context, kind run.Kind, conversation int64) (string, bool, error)
	Mark(ctx context.Context, conversation int64, kind run.Kind) (int, error)
	SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id string) error
	OpenAdds(ctx context.Context) (run.AddQueue, error)
}

// WorkspaceRepository reads and writes the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	AnyLongTerm(ctx context.Context) (bool, error)
	// SkillsNamed reads the active skills with the given names, in any order.
	SkillsNamed(ctx context.Context, names []string) ([]skill.Head, error)
	LockConversation(ctx context.Context, id int64) (conversation.Conversation, error)
}

// TranscriptRepository reads and writes conversations.
type TranscriptRepository interface {
	PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
}
