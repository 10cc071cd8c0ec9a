package memoryagent

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/ledger"
	"cairn/internal/service/memory"
	"cairn/internal/store"
)

// Delegator is the part of the agent loop that processes hand-offs.
type Delegator interface {
	RunThrough(ctx context.Context, in contract.ToolInput) (agentrun.RunView, Result, bool, error)
	Tell(ctx context.Context, ref run.Ref, n, position int, result Result) error
}

// Starter starts workflows.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
	Ended(ctx context.Context, workflowID string) error // waits for the end of a workflow
}

// Ports are the dependencies of the service.
type Ports struct {
	Store    *store.Store
	LongTerm *memory.LongTermService
	Loop     Delegator
	Starter  Starter // nil without Temporal
	Registry *Registry
	Ledger   *ledger.Ledger // ledger of refinement calls
	MaxAdds  int            // open adds of the deployment, above which further ones are refused; 0 for no limit
	// OnNoAnswer is called with questions that have no matching memory. It may be nil.
	OnNoAnswer func(ctx context.Context, q Question, a Answer) error
}

// Service runs summarize and retrieve requests.
type Service struct{ Ports }

// New returns a service. It returns an error if a required port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("memoryagent", map[string]any{"Store": p.Store, "LongTerm": p.LongTerm, "Loop": p.Loop,
		"Registry": p.Registry, "Ledger": p.Ledger})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}
