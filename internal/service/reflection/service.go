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

// Store opens transactions.
type Store interface {
	WithReflections(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Keeper adds lasting memories.
type Keeper interface {
	Save(ctx context.Context, a agent.Actor, in promptmemory.SaveArgs) (promptmemory.WriteResult, error)
}

// Ports are what the service works with.
type Ports struct {
	Store  Store
	Keeper Keeper
	Memory agentrun.Memory // what is remembered already
	Tools  agentrun.Tools  // of the agent: those of reviews, and note_append
	Log    *slog.Logger
}

// Service is the use-case.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("reflection", map[string]any{"Store": p.Store, "Keeper": p.Keeper, "Memory": p.Memory,
		"Tools": p.Tools, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}
