package fastadd

import (
	"context"

	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
)

// Store opens transactions.
type Store interface {
	WithAdds(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Tx reads and writes the rows of one workspace in one transaction.
type Tx interface {
	Adds() Repository
	LongTerm() longterm.Tx
}

// Repository reads and writes the adds of a workspace.
type Repository interface {
	// Waiting locks up to most open adds of a subject, the first one first. Those that another
	// transaction has locked are left out.
	Waiting(ctx context.Context, subject string, most int) ([]run.OpenAdd, error)
	// Join makes adds part of the call of another run.
	Join(ctx context.Context, first string, ids []string) error
	Settings(ctx context.Context) (settings.Settings, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	// RunLocked reads and locks the state of a run.
	RunLocked(ctx context.Context, id string) (run.Status, error)
	EndRun(ctx context.Context, id string, outcome run.Outcome, reason string, result any) error
	SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id string) error
}

// Asker makes each model call once.
type Asker interface {
	Ask(ctx context.Context, q ledger.Question) (text string, problem, err error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store    Store
	LongTerm *longterm.Service
	Finder   memorywrite.Finder
	Calls    Asker
}

// Service adds sessions to memory with one model call.
type Service struct{ Ports }

// New returns a service. It returns an error if a port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("fastadd", map[string]any{"Store": p.Store, "LongTerm": p.LongTerm, "Finder": p.Finder,
		"Calls": p.Calls})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}
