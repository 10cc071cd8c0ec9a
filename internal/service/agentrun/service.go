package agentrun

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/service/tools"
)

// Store opens transactions.
type Store interface {
	WithRuns(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

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
	Store            Store
	Ledger           *ledger.Ledger
	Tools            Tools
	Memory           Memory
	Agents           map[run.Kind]Agent // for further kinds of runs
	MemoryAgentTools Tools              // for turns of the agent remy

	Transcriber *Transcriber // nil transcribes no recordings

	Replies   Replies     // nil streams no replies
	Compactor Compactor   // nil truncates long conversations instead
	Builder   Builder     // nil builds no memories from reviews
	FlushSpec func() Spec // returns the configuration of reviews before a compaction
}

// Transcriber is a model that returns the words of recordings.
type Transcriber struct {
	Ledger *ledger.Ledger
	Model  string
}

// Service runs agents. All ports except Transcriber, Replies, Compactor and Builder are required.
type Service struct{ Ports }

// New returns a Service. It fails if a required port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("agentrun", map[string]any{"Store": p.Store, "Ledger": p.Ledger, "Tools": p.Tools,
		"Memory": p.Memory, "FlushSpec": p.FlushSpec})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Conversation is the row of a conversation with the fields that turns need.
type Conversation struct {
	ID       int64
	Name     string // ID that the gateway uses
	Channel  string
	NextSeq  int
	NextTurn int
	Counters nudge.Counters // after the counted turns
	Counts   int            // number of counted turns
	Reviewed int            // last turn that a review has read
	Notice   string
	Last     ActivityWindow // zero if it was not read
}

// ActivityWindow describes the latest messages of a conversation when it was read. The messages of
// one session follow each other without a long pause.
type ActivityWindow struct {
	Now       time.Time  // database clock
	Session   int32      // sequence number of the session's first message, -1 without messages
	EventTime *time.Time // of the last message
}

// Turn is one user message and its reply.
type Turn struct {
	Conversation int64
	Number       int
	MessageID    string
	Mode         string
	Origin       string
	ArgsSHA      [32]byte
	Run          string
	Context      string
	FirstSeq     int
	ReplySeq     int // -1 without a reply
	Ended        bool
	Reason       string
	Facts        nudge.Turn
	Tainted      bool
	AcceptedAt   time.Time
	Record       Record // record of earlier turns at the time the run was read
	EndedAt      *time.Time
}

// SessionChanges are changes that the session of a turn does not contain.
type SessionChanges struct {
	Zone     string   // IANA time zone of the workspace
	Changed  []string // skills changed since the session was frozen
	Approved []string // skills whose changes from this conversation were approved since the previous turn
	Rejected []string
	Memories int // number of pending memory changes decided since the previous turn
}

// TurnMessage is a message with the number of its turn.
type TurnMessage struct {
	Turn int
	transcript.Message
}

// Step is one model response of a run.
type Step struct {
	N       int
	Note    string // instruction sent before the response
	Content string
	Finish  string
	Calls   []Call
}

// Call is one tool call of a response. Result is the text sent to the model.
type Call struct {
	Step      int
	Position  int
	ID        string
	Tool      string
	Class     agent.Class
	Arguments string
	Done      bool
	Result    string
	Code      string // error code of a failed call
}

// StepResume is stored when a run continues: the results of calls and the session to store, 0 for
// none. The returned value holds what was stored first and, for a turn, the data of its context.
type StepResume struct {
	Calls   []Call
	Session int64
	Kept    int64 // session that the run has already, 0 to skip the check; returned as the current one

	Turn    *Turn     // turn whose context is not pinned, nil otherwise
	Frozen  time.Time // creation time of its session
	News    SessionChanges
	Context string // context pinned by another attempt
}

// NewRun is a run to record. If a run with its key exists, that one is returned.
type NewRun struct {
	Kind         run.Kind
	Key          string
	ArgsSHA      [32]byte
	Conversation int64
	Spec         json.RawMessage
	WorkflowID   string
}
