package memoryagent

import (
	"cairn/internal/service/ledger"
	"cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// AdderPorts are the dependencies of the service.
type AdderPorts struct {
	Store    *store.Store
	LongTerm *memory.LongTermService
	Finder   search.Finder
	Calls    *ledger.Ledger
}

// Adder adds sessions to memory with one model call. It claims the open adds of a subject,
// shows the model the memories that they may affect, stores its reply, and commits all changes, the
// summaries and the ends of the runs in one transaction.
//
//	out, err := service.Add(ctx, in)   // one call; out.More means that other adds wait
type Adder struct{ AdderPorts }

// NewAdder returns a service.
func NewAdder(p AdderPorts) *Adder {
	return &Adder{AdderPorts: p}
}
