// Package mem0api speaks to clients of mem0 as a mem0 server does: the routes of its
// self-hosted server, and those of its platform that its clients use. The workspace is
// the key's; what mem0 calls user_id, agent_id and run_id is data: whom a memory is
// about, and members of its metadata.
package mem0api

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/apikey"
	"cairn/internal/service/conversation"
	"cairn/internal/service/inspect"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/promptmemory"
	"cairn/internal/service/search"
)

// Services are what the routes offer.
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

// Embedder names the space of the vectors.
type Embedder interface {
	Model() string
	Dims() int
}

// Options are the configuration of the routes.
type Options struct {
	Root     bool   // the routes are without the prefix /mem0, too
	Model    string // that answers, for display
	TurnSpec func() conversation.Spec
}

// Door is what the gateway does for every request, whoever's client sends it.
type Door interface {
	// Authorize finds who asks, and refuses a key that may not.
	Authorize(r *http.Request, scope apikey.Scope) (apikey.Principal, error)
	// Refuse is an error as the caller may be told of it.
	Refuse(ctx context.Context, doing string, err error) Refusal
	// Await returns a run's status when it has ended or enough was waited.
	Await(ctx context.Context, ref run.Ref, patience time.Duration, look func() (run.Status, error)) (run.Status, error)
	// Operation is the operation id of a change under the key that a caller chose.
	Operation(chosen string) string
	// Link is the address of a path.
	Link(format string, args ...any) string
}

// Refusal is an error as the caller may be told of it.
type Refusal struct {
	Status        int
	Header        http.Header
	Code          fault.Code
	Message, Hint string
}

// api is what every call works with.
type api struct {
	Services
	options Options
	door    Door
}
