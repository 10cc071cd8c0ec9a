package memoryagent

import (
	"context"

	"cairn/internal/domain/ports"
	"cairn/internal/service/ledger"
	"cairn/internal/service/memory"
	"cairn/internal/store"
)

// Asker makes each model call once.
type Asker interface {
	Ask(ctx context.Context, q ledger.Question) (text string, problem, err error)
}

// AdderPorts are the dependencies of the service.
type AdderPorts struct {
	Store    *store.Store
	LongTerm *memory.LongTermService
	Finder   memory.Finder
	Calls    Asker
}

// Adder adds sessions to memory with one model call. It claims the open adds of a subject,
// shows the model the memories that they may affect, stores its reply, and commits all changes, the
// summaries and the ends of the runs in one transaction.
//
//	out, err := service.Add(ctx, in)   // one call; out.More means that other adds wait
type Adder struct{ AdderPorts }

// NewAdder returns a service. It returns an error if a port is nil.
func NewAdder(p AdderPorts) (*Adder, error) {
	err := ports.Require("fastadd", map[string]any{"Store": p.Store, "LongTerm": p.LongTerm, "Finder": p.Finder,
		"Calls": p.Calls})
	if err != nil {
		return nil, err
	}
	return &Adder{AdderPorts: p}, nil
}
