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

// Tools are what agents can do.
type Tools interface {
	Offered(o agent.Origin, names ...string) []agent.ToolSpec
	Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error)
}

// Memory is what a session is told of its workspace.
type Memory interface {
	Remembered(ctx context.Context, ws int64) (prompt.SessionContext, error)
	// About is for the agent that answers from long-term memory: who it is, and
	// the targets that there are memories about, one a line.
	About(ctx context.Context, ws int64) (identity, meta string, err error)
}

// Builder has memories built of what was said in a conversation since the last time.
type Builder interface {
	Build(ctx context.Context, in contract.IdleInput) (run int64, err error)
}

// Ports are what the service works with.
type Ports struct {
	Store            Store
	Ledger           *ledger.Ledger
	Tools            Tools
	Memory           Memory
	Agents           map[run.Kind]Agent // of further kinds of runs
	MemoryAgentTools Tools              // of turns that the agent remy answers

	Compactor Compactor   // nil where conversations are cut
	Builder   Builder     // nil where reviews build no memories
	FlushSpec func() Spec // the configuration of reviews before a compaction
}

// Service runs agents. Each of its ports but Compactor and Builder is required.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("agentrun", map[string]any{"Store": p.Store, "Ledger": p.Ledger, "Tools": p.Tools,
		"Memory": p.Memory, "FlushSpec": p.FlushSpec})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Conversation is a row as turns need it.
type Conversation struct {
	ID       int64
	Name     string // the gateway's id of it
	Channel  string
	NextSeq  int
	NextTurn int
	Counters nudge.Counters // after the turns that were counted
	Counts   int            // how many those are
	Reviewed int            // the last turn that a nudge has read
	Notice   string
	Last     ActivityWindow // zero when it was not read
}

// ActivityWindow is where a conversation stood when it was read: messages of one sitting
// follow each other without a long pause.
type ActivityWindow struct {
	Now       time.Time  // by the database's clock
	Session   int32      // the message that it began with, -1 when nobody has said anything
	EventTime *time.Time // of the last message
}

// Turn is one message with what was done to answer it.
type Turn struct {
	Conversation int64
	Number       int
	MessageID    string
	Mode         string
	Origin       string
	ArgsSHA      [32]byte
	Run          int64
	Context      string
	FirstSeq     int
	ReplySeq     int // -1 without an answer
	Ended        bool
	Reason       string
	Facts        nudge.Turn
	Tainted      bool
	AcceptedAt   time.Time
	Record       Record // of the turns before it, as it stands when its run is read
	EndedAt      *time.Time
}

// SessionChanges are what has happened that the session of a turn does not hold.
type SessionChanges struct {
	Zone     string   // IANA name of the workspace's time zone
	Changed  []string // skills, since the session was frozen
	Approved []string // skills whose change this conversation had proposed, since the turn before
	Rejected []string
	Memories int // proposed changes of memory, decided about since the turn before
}

// TurnMessage is a message with the turn that it belongs to.
type TurnMessage struct {
	Turn int
	transcript.Message
}

// Step is one model response of a run.
type Step struct {
	N       int
	Note    string // said to the model before it
	Content string
	Finish  string
	Calls   []Call
}

// Call is one tool call of a response. Result is what the model was told of it.
type Call struct {
	Step      int
	Position  int
	ID        string
	Tool      string
	Class     agent.Class
	Arguments string
	Done      bool
	Result    string
	Code      string // of a failure
}

// StepResume is what is stored when a run goes on: what its model is told of calls,
// and the session that it keeps, 0 to leave that alone. In return it holds what
// was stored first, and of a turn what its context is made of.
type StepResume struct {
	Calls   []Call
	Session int64
	Kept    int64 // session that it keeps already, 0 when nobody asks: what it is by now

	Turn    *Turn     // whose context was not pinned, nil of others
	Frozen  time.Time // its session was
	News    SessionChanges
	Context string // that was pinned meanwhile
}

// NewRun is a run to be recorded; one that has its key is returned instead.
type NewRun struct {
	Kind         run.Kind
	Key          string
	ArgsSHA      [32]byte
	Conversation int64
	Spec         json.RawMessage
	WorkflowID   string
}
