package reflection

import (
	"context"
	"log/slog"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/conversation"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memoryagent"
)

// Statuses of a reflection. A run that wrote nothing says why: there was nothing
// to read, or nothing worth keeping.
const (
	Saved   = "saved"
	Nothing = "nothing_to_save"
	Empty   = "empty"   // nothing was said: no model was asked
	Partial = "partial" // something was saved, and the budget or the size of the day left a rest
	Failed  = "failed"

	statusStarted = "started" // of a date whose run is under way
)

// Message is one that a reflection may take up.
type Message struct {
	transcript.Message
	Conversation int64
	Turn         int
	Said         time.Time
	Human        bool // else nobody brought it about, and it is passed over
	Reviewed     bool // a nudge has looked through it for memories and skills
}

// Read is a range of messages that a run takes up.
type Read struct {
	Conversation int64
	FromSeq      int
	ToSeq        int
	Part         int
	State        string // open read skipped
	Messages     int    // of a range that is passed over
}

// States of a range.
const (
	readOpen    = "open"
	readDone    = "read"
	readSkipped = "skipped"
)

// Window says which messages a run may take up.
type Window struct {
	Since    time.Time // the zero value is the beginning of time
	Until    time.Time // not included
	PastMark bool      // only what comes after each conversation's mark
	Again    bool      // also what an earlier run has read
	Max      int
}

// Tx is one workspace's rows in one transaction.
type Tx interface {
	LockReflections(ctx context.Context) error
	Unread(ctx context.Context, w Window) ([]Message, error)
	Range(ctx context.Context, r Read) ([]Message, error)
	Stale(ctx context.Context, before time.Time) ([]Read, error)
	PutReads(ctx context.Context, id int64, reads []Read) error
	Reads(ctx context.Context, id int64) ([]Read, error)
	EndReads(ctx context.Context, id int64, parts int, state string) error // of the parts before
	SkipRead(ctx context.Context, id int64, r Read) error
	FreeReads(ctx context.Context, id int64) error
	PutDay(ctx context.Context, id int64, status string, r Report) error // what a local date has come to so far
	Unheard(ctx context.Context, at time.Time) (bool, error)             // whether the day is the seventh that is empty although people talked
	Days(ctx context.Context, from, to string, max int) ([]Day, error)
	ContiguousMark(ctx context.Context, conversation int64) (int, error)
	LastTurn(ctx context.Context, conversation int64, seq int) (int, error)
	SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id int64) error

	Run(ctx context.Context, id int64) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	ReflectionOf(ctx context.Context, date string, generation int) (run.Run, bool, error)
	Reflections(ctx context.Context, date string, max int) ([]run.Run, error)
	PutAgentRun(ctx context.Context, r memoryagent.NewRun) (run.Run, error)
	OweRun(ctx context.Context, id int64) error
	EndRun(ctx context.Context, id int64, outcome run.Outcome, reason string, result any) error
	Usage(ctx context.Context, id int64) (run.Usage, error)

	LockConversation(ctx context.Context, id int64) (conversation.Conversation, error)
	Counted(ctx context.Context, c conversation.Conversation) error
	NotesOf(ctx context.Context, date string, max int) ([]memory.Entry, error)
	Settings(ctx context.Context) (settings.Settings, error)

	// RecalledNotes lists notes that searches have brought back at least so often.
	RecalledNotes(ctx context.Context, recalls, queries, days, max int) ([]Recall, error)
}

// Store opens transactions.
type Store interface {
	WithReflections(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Keeper adds lasting memories.
type Keeper interface {
	Save(ctx context.Context, a agent.Actor, in longterm.SaveArgs) (longterm.Written, error)
}

// Service is the use-case.
type Service struct {
	Store  Store
	Keeper Keeper
	Memory conversation.Memory // what is remembered already
	Tools  conversation.Tools  // of the agent: those of reviews, and note_append
	Log    *slog.Logger
}
