package agentrun

import (
	"context"
	"encoding/json"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
	"cairn/internal/service/tools"
	"cairn/internal/store"
)

// Tools are the tools of an agent.
type Tools interface {
	Offered(o agent.Origin, names ...string) []agent.ToolSpec
	Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error)
}

// Memory reads what the prompt session shows of a workspace.
type Memory interface {
	Remembered(ctx context.Context, ws int64) (prompt.SessionContext, error)
	// About returns the agent's identity and the memory targets, one per line, for the agent that
	// answers from long-term memory.
	About(ctx context.Context, ws int64) (identity, meta string, err error)
}

// Builder builds memories from the new messages of a conversation.
type Builder interface {
	Build(ctx context.Context, in contract.IdleInput) (run string, err error)
}

// Replies passes on the text of replies while models write them.
type Replies interface {
	// Open returns the function that takes the parts of an attempt at the model call of a step.
	Open(ref run.Ref, step, attempt int) (emit func(text string))
	// Written returns the text of the latest attempt at the first step after a step, empty without one.
	Written(ctx context.Context, ref run.Ref, after int) (string, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store            *store.Store
	Ledger           *ledger.Ledger
	Tools            Tools
	Memory           Memory
	Agents           map[run.Kind]Agent // for further kinds of runs
	MemoryAgentTools Tools              // for turns of the agent remy

	Transcriber *Transcriber // nil transcribes no recordings

	Replies   Replies     // nil streams no replies
	Compactor Compactor   // nil truncates long conversations instead
	Builder   Builder     // nil builds no memories from reviews
	NudgeSpec func() Spec // returns the configuration of reviews
	FlushSpec func() Spec // returns the configuration of reviews before a compaction
}

// Transcriber is a model that returns the words of recordings.
type Transcriber struct {
	Ledger *ledger.Ledger
	Model  string
}

// Service runs agents. All ports except Transcriber, Replies, Compactor and Builder are required.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}
