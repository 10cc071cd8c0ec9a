package reflection

import (
	"log/slog"

	"cairn/internal/service/agentrun"
	"cairn/internal/service/memory"
	"cairn/internal/store"
)

// Statuses of a reflection. Empty and nothing_to_save distinguish a day without messages from one
// without useful content.
const (
	Empty = "empty" // no messages: no model call

	statusStarted = "started" // the run of the date is in progress
)

// States of a range.
const (
	readOpen    = "open"
	readDone    = "read"
	readSkipped = "skipped"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store  *store.Store
	Keeper *memory.PromptService
	Memory agentrun.Memory // reads existing memories
	Tools  agentrun.Tools  // tools of reviews and note_append
	Log    *slog.Logger
}

// Service runs daily reviews.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}
