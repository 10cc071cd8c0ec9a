package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/apikey"
	"cairn/internal/service/conversation"
	"cairn/internal/service/curate"
	"cairn/internal/service/distill"
	"cairn/internal/service/dump"
	"cairn/internal/service/erase"
	"cairn/internal/service/feedback"
	"cairn/internal/service/inspect"
	"cairn/internal/service/learning"
	"cairn/internal/service/library"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/offload"
	"cairn/internal/service/promptmemory"
	"cairn/internal/service/reflection"
	"cairn/internal/service/schedule"
	"cairn/internal/service/search"
	"cairn/internal/service/tools"
)

// Services are what the routes offer. To describe the routes, none of them is needed.
type Services struct {
	Log           *slog.Logger
	Keys          *apikey.Service
	Runs          *inspect.Runs
	Conversations *inspect.Conversations
	Workspaces    *inspect.Workspaces
	Waiter        inspect.Waiter
	Inbox         *conversation.Service
	Distill       *distill.Service
	Library       *library.Library
	Curator       *curate.Service
	Finder        search.Finder
	Memory        *promptmemory.Service
	LongTerm      *longterm.Service
	Progressive   *memoryagent.Service
	Offload       *offload.Service
	Dumps         *dump.Service
	Learning      *learning.Service
	Feedback      *feedback.Service
	Reflect       *reflection.Service
	Reflections   *reflection.Requests
	Schedules     *schedule.Service
	Erase         *erase.Service
	Offered       *tools.Registry // what other programs may call
	Driver        Driver          // nil without Temporal
	Embedder      Embedder
	// Fetch downloads a package by its URL.
	Fetch  func(ctx context.Context, url string) ([]byte, error)
	Probes Probes
	// Codec encrypts and decrypts payloads for Temporal's programs; nil without keys.
	Codec http.Handler
}

// Driver brings what is stored to Temporal. The relay brings what it could not.
type Driver interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
	Answer(ctx context.Context, workspaceKey string, turn run.Run) (contract.TurnResult, error)
	Erase(ctx context.Context, workspaceKey string, erasure, conversation int64) error
}

// Embedder names the space of the vectors.
type Embedder interface {
	Model() string
	Dims() int
}

// Probes ask for what the gateway needs.
type Probes struct {
	Database func(ctx context.Context) error
	Temporal func(ctx context.Context) error
	// Schema is which version the database's schema has, nil when nobody can tell, and
	// an error when this program does not work on it.
	Schema func(ctx context.Context) (*Schema, error)
}

// Schema is which version the database's schema has, beside this program's.
type Schema struct {
	Version int64 `json:"version" doc:"Of the database"`
	Program int64 `json:"program" doc:"Of the schema that this program was built for"`
}

// Options are the configuration of the gateway.
type Options struct {
	RequestBytes  int64         // of a request's body at most
	RateLimit     float64       // requests of a key a second, 0 without a bound
	StopTimeout   time.Duration // that requests under way have when the gateway stops
	PublicBaseURL string        // that links begin with; empty for relative ones
	Metrics       string        // who sees the counts: key, open or off
	TemporalUI    string
	MCPName       string
	NameStyle     string // of exported skills
	Model         string // that answers, for display
	OffloadTTL    time.Duration
	Mem0Compat    string // where mem0's routes are: root, too

	// WorkflowLink is a workflow's page in Temporal UI, empty when there is none.
	WorkflowLink func(workflowID string) string
	// What new runs are pinned to; empty arguments mean what is configured.
	DistillSpec func(mode, gate, extract string) distill.Spec
	TurnSpec    func() agentrun.Spec
	OffloadSpec func() offload.Spec
}
