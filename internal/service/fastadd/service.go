package fastadd

import (
	"context"

	"cairn/internal/domain/ports"
	"cairn/internal/service/ledger"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
	"cairn/internal/store"
)

// Asker makes each model call once.
type Asker interface {
	Ask(ctx context.Context, q ledger.Question) (text string, problem, err error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store    *store.Store
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
