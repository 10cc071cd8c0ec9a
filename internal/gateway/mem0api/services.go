// Package mem0api serves clients of mem0: it has the routes of mem0's self-hosted server,
// and those of mem0's platform that its clients call. The key selects the workspace.
// mem0's user_id, agent_id and run_id are data: they select a memory's target and are
// stored in its metadata.
package mem0api

import (
	"context"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/apikey"
	"cairn/internal/service/inspect"
	"cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/search"
)

// Services holds the services behind the routes.
type Services struct {
	Keys        *apikey.Service
	Runs        *inspect.Runs
	Workspaces  *inspect.Workspaces
	Memory      *memory.PromptService
	LongTerm    *memory.LongTermService
	Progressive *memoryagent.Service
	Finder      search.Finder
	Embedder    Embedder
	// Await returns a run's status when the run has ended or patience is over.
	Await func(ctx context.Context, ref run.Ref, patience time.Duration, look func() (run.Status, error)) (run.Status,
		error)
}

// Embedder names the embedding model of the vectors.
type Embedder interface {
	Model() string
	Dims() int
}

// Options configures the routes.
type Options struct {
	Root     bool   // also serve the routes without the prefix /mem0
	Model    string // name of the model, for display
	TurnSpec func() agentrun.Spec
	BaseURL  string // of links; empty means relative links
}

// api holds the dependencies of all calls.
type api struct {
	Services
	options Options
	edge    *edge.Edge
}
