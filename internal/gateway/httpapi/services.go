package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/mem0api"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/apikey"
	"cairn/internal/service/channel"
	"cairn/internal/service/completion"
	"cairn/internal/service/conversation"
	"cairn/internal/service/distill"
	"cairn/internal/service/dump"
	"cairn/internal/service/erase"
	"cairn/internal/service/feedback"
	"cairn/internal/service/health"
	"cairn/internal/service/inbox"
	"cairn/internal/service/inspect"
	"cairn/internal/service/intake"
	"cairn/internal/service/learning"
	"cairn/internal/service/library"
	"cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/offload"
	"cairn/internal/service/reflection"
	"cairn/internal/service/replystream"
	"cairn/internal/service/schedule"
	"cairn/internal/service/search"
	"cairn/internal/service/tools"
	"cairn/internal/service/vectorspace"
)

// Services holds the services behind the routes. OpenAPI needs none of them.
type Services struct {
	Log           *slog.Logger
	Keys          *apikey.Service
	Sessions      *apikey.ConsoleSessions // of the web console
	Explore       *inspect.Service
	Health        *health.Service
	Audit         *inspect.AuditService
	Runs          *inspect.Runs
	Conversations *inspect.Conversations
	Workspaces    *inspect.Workspaces
	Waiter        inspect.Waiter
	Inbox         *conversation.Service
	Distill       *distill.Service
	Imports       *intake.Service
	Traces        *intake.Traces
	Library       *library.Library
	ReviewInbox   *inbox.Service
	Curator       *library.Curator
	Finder        search.Finder
	Memory        *memory.PromptService
	LongTerm      *memory.LongTermService
	Progressive   *memoryagent.Service
	Offload       *offload.Service
	Dumps         *dump.Service
	Learning      *learning.Service
	Feedback      *feedback.Service
	Reflect       *reflection.Service
	Reflections   *reflection.Requests
	Schedules     *schedule.Service
	Erase         *erase.Service
	Reembed       *vectorspace.Service
	Replies       *replystream.Reader
	Completions   *completion.Service
	People        *channel.Service // users of gateways and chat platforms
	Webhooks      http.Handler     // of accounts of chat platforms, at /channels/; nil without accounts
	// ReplyNews returns a channel that receives when a run has new text of its reply.
	ReplyNews func(ref run.Ref) (news <-chan struct{}, stop func())
	Offered   *tools.Registry // tools that other programs may call
	Driver    Driver          // nil without Temporal
	Embedder  mem0api.Embedder
	// Fetch downloads a package from a URL.
	Fetch  func(ctx context.Context, url string) ([]byte, error)
	Probes Probes
	// Codec encrypts and decrypts payloads for Temporal UI and CLI; nil without keys.
	Codec http.Handler
}

// Driver sends stored work to Temporal. The relay sends what Driver could not.
type Driver interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
	Answer(ctx context.Context, workspaceKey string, turn run.Run) (contract.TurnResult, error)
	Erase(ctx context.Context, e contract.EraseStart) error
}

// Probes check the dependencies of the gateway.
type Probes struct {
	Database func(ctx context.Context) error
	Temporal func(ctx context.Context) error
	// Schema returns the schema version of the database, or nil if it cannot be read.
	// It returns an error if this program does not support the version.
	Schema func(ctx context.Context) (*Schema, error)
	// Embedder returns an error if the embedding model is not usable. The gateway stays ready.
	Embedder func(ctx context.Context) error
}

// Schema compares the schema version of the database with that of this program.
type Schema struct {
	Version int64 `json:"version" doc:"Schema version of the database"`
	Program int64 `json:"program" doc:"Schema version that this program supports"`
}

// Options is the configuration of the gateway.
type Options struct {
	RequestBytes   int64          // maximum size of a request body
	BodyIdle       time.Duration  // time without data after which a request ends; 0 means 10 seconds
	TrustedProxies []netip.Prefix // whose X-Forwarded-For names the client
	RateLimit      float64        // requests per second of each key; 0 means no limit
	BatchBytes     int64          // bytes of batches per second of each key; 0 means no limit
	DrainDelay     time.Duration  // time between the signal to stop and the end of new requests
	StopTimeout    time.Duration  // time for open requests after that
	PublicBaseURL  string         // base of links; empty means relative links
	Metrics        string         // access to metrics: key, open or off
	TemporalUI     string
	MCPName        string
	NameStyle      string // name style of exported skills: hyphen or underscore
	Model          string // name of the model, for display
	OffloadTTL     time.Duration
	Mem0Compat     string   // "root" serves mem0's routes at / as well
	APIModels      []string // models that requests of OpenAI clients may name as cairn/<model>
	APIOrigins     []string // of web pages that may send such requests; * allows all
	// TakesImages reports whether a model takes images.
	TakesImages func(model string) bool
	// ToolNames returns the names of Cairn's tools, which tools of a client cannot have.
	ToolNames func() []string

	// WorkflowLink returns a workflow's page in Temporal UI, empty if there is none.
	WorkflowLink func(workflowID string) string
	// These return the specs of new runs; empty arguments mean the configured values.
	DistillSpec func(mode, gate, extract string) distill.Spec
	TurnSpec    func() agentrun.Spec
	OffloadSpec func() offload.Spec
}
