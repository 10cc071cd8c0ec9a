package reflection

import (
	"context"
	"log/slog"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/promptmemory"
)

// Statuses of a reflection. Empty and nothing_to_save distinguish a day without messages from one
// without useful content.
const (
	Saved   = "saved"
	Nothing = "nothing_to_save"
	Empty   = "empty"   // no messages: no model call
	Partial = "partial" // saved, but the budget or the size limit left messages unread
	Failed  = "failed"

	statusStarted = "started" // the run of the date is in progress
)

// Message is a message that a reflection may read.
type Message struct {
	transcript.Message
	Conversation int64
	Turn         int
	Said         time.Time
	Human        bool // false if no user caused it; then it is skipped
	Reviewed     bool // a review has read it for memories and skills
}

// Read is a range of messages of a run.
type Read struct {
	Conversation int64
	FromSeq      int
	ToSeq        int
	Part         int
	State        string // open, read or skipped
	Messages     int    // of a skipped range
}

// States of a range.
const (
	readOpen    = "open"
	readDone    = "read"
	readSkipped = "skipped"
)

// Window selects the messages that a run may read.
type Window struct {
	Since    time.Time // zero means no lower bound
	Until    time.Time // exclusive
	PastMark bool      // only messages after the mark of each conversation
	Again    bool      // include messages that an earlier run has read
	Max      int
}

// Store opens transactions.
type Store interface {
	WithReflections(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Keeper adds memories.
type Keeper interface {
	Save(ctx context.Context, a agent.Actor, in promptmemory.SaveArgs) (promptmemory.WriteResult, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store  Store
	Keeper Keeper
	Memory agentrun.Memory // reads existing memories
	Tools  agentrun.Tools  // tools of reviews and note_append
	Log    *slog.Logger
}

// Service runs daily reviews.
type Service struct{ Ports }

// New returns a Service. It fails if a required port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("reflection", map[string]any{"Store": p.Store, "Keeper": p.Keeper, "Memory": p.Memory,
		"Tools": p.Tools, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}
