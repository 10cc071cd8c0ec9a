// Package mem0api serves clients of mem0: it has the routes of mem0's self-hosted server,
// and those of mem0's platform that its clients call. The key selects the workspace.
// mem0's user_id, agent_id and run_id are data: they select a memory's target and are
// stored in its metadata.
package mem0api

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/door"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/apikey"
	"cairn/internal/service/inspect"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/promptmemory"
	"cairn/internal/service/search"
)

// Services holds the services behind the routes.
type Services struct {
	Keys        *apikey.Service
	Runs        *inspect.Runs
	Workspaces  *inspect.Workspaces
	Memory      *promptmemory.Service
	LongTerm    *longterm.Service
	Progressive *memoryagent.Service
	Finder      search.Finder
	Embedder    Embedder
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
}

// Door gives access to what the gateway does for requests of all clients.
type Door interface {
	// Authorize authenticates a request and checks the scope of its key.
	Authorize(r *http.Request, scope access.Scope) (access.Principal, error)
	// Refuse converts an error into a response.
	Refuse(ctx context.Context, doing string, err error) door.Refusal
	// Await returns a run's status when the run has ended or patience is over.
	Await(ctx context.Context, ref run.Ref, patience time.Duration, look func() (run.Status, error)) (run.Status, error)
	// Operation returns the operation ID of a change with the caller's idempotency key.
	Operation(chosen string) string
	// Link returns the URL of a path.
	Link(format string, args ...any) string
}

// api holds the dependencies of all calls.
type api struct {
	Services
	options Options
	door    Door
}
