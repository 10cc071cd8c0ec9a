package reflection

import (
	"context"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
)

// Tx accesses the rows of one workspace in one transaction.
type Tx interface {
	Reads() ReadRepository
	Days() DayRepository
	Notes() NoteRepository
	Runs() RunRepository
	Workspace() WorkspaceRepository
}

// ReadRepository reads messages and stores which ranges were read.
type ReadRepository interface {
	LockReflections(ctx context.Context) error
	Unread(ctx context.Context, w reflection.Window) ([]reflection.Message, error)
	Range(ctx context.Context, r reflection.Read) ([]reflection.Message, error)
	Stale(ctx context.Context, before time.Time) ([]reflection.Read, error)
	PutReads(ctx context.Context, id string, reads []reflection.Read) error
	Reads(ctx context.Context, id string) ([]reflection.Read, error)
	EndReads(ctx context.Context, id string, parts int, state string) error // of earlier parts
	SkipRead(ctx context.Context, id string, r reflection.Read) error
}

// DayRepository reads and writes days.
type DayRepository interface {
	FreeReads(ctx context.Context, id string) error
	PutDay(ctx context.Context, id string, status string, r reflection.Report) error // current result of a local date
	// EmptyWeek reports whether the day is the seventh empty one in a row in spite of messages.
	EmptyWeek(ctx context.Context, at time.Time) (bool, error)
	Days(ctx context.Context, from, to string, max int) ([]reflection.Day, error)
	ContiguousMark(ctx context.Context, conversation int64) (int, error)
	LastTurn(ctx context.Context, conversation int64, seq int) (int, error)
	ReflectionOf(ctx context.Context, date string, generation int) (run.Run, bool, error)
	Reflections(ctx context.Context, date string, max int) ([]run.Run, error)
}

// NoteRepository reads and writes notes of days.
type NoteRepository interface {
	NotesOf(ctx context.Context, date string, max int) ([]memory.Entry, error)
	// RecalledNotes lists notes that searches have returned at least this often.
	RecalledNotes(ctx context.Context, recalls, queries, days, max int) ([]reflection.Recall, error)
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id string) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	EnqueueRun(ctx context.Context, id string) error
	EndRun(ctx context.Context, id string, outcome run.Outcome, reason string, result any) error
	Usage(ctx context.Context, id string) (run.Usage, error)
	PutAgentRun(ctx context.Context, r run.NewAgentRun) (run.Run, error)
}

// WorkspaceRepository reads and writes the workspace and its conversations.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id string) error
	LockConversation(ctx context.Context, id int64) (conversation.Conversation, error)
	SaveCounters(ctx context.Context, c conversation.Conversation) error
	// PutDigest sends a text about a run to the home chat of the workspace, if it has one.
	PutDigest(ctx context.Context, run, text string) error
}
