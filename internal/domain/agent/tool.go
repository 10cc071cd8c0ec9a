package agent

import (
	"encoding/json"
	"slices"
)

// Origin is who writes. The server sets it from what runs, never from an
// argument of a tool.
type Origin string

const (
	OriginUser       Origin = "user"  // a person, by command line or API
	OriginAgent      Origin = "agent" // the agent that answers a turn
	OriginNudge      Origin = "nudge"
	OriginReflection Origin = "reflection"
	OriginDistill    Origin = "distill"
	OriginDesigner   Origin = "designer"
	OriginImport     Origin = "import"
)

// Autonomous tells that nobody watches: such writers change only what is theirs.
func (o Origin) Autonomous() bool {
	switch o {
	case OriginNudge, OriginReflection, OriginDistill, OriginDesigner:
		return true
	}
	return false
}

// Actor is on whose behalf a tool runs.
type Actor struct {
	Workspace    int64
	Origin       Origin
	Run          int64  // the run that calls, 0 outside of one
	Conversation int64  // that the run is about, 0 when there is none
	Channel      string // voice, sms, chat, scheduled; empty outside a conversation
	FromSeq      int    // messages that the run has seen, both ends included: evidence of what it writes
	ToSeq        int
	Op           string // operation id of this call: its effect happens once under it
	Tainted      bool   // untrusted text has entered the run's window
	Subject      MemoryScope
}

// MemoryScope is what the tools of long-term memory work on. It comes from what
// runs, never from an argument of a tool.
type MemoryScope struct {
	Type      string // of the memories; empty where a tool's arguments tell it, and for people, who may change any
	Target    string // who or what they are about
	History   string // id of the session that what is written was drawn from
	Author    string // model@prompt-hash
	Fence     int64  // of the run's lease on the target: a write under an older one is refused. 0 without a lease
	ShownOnly bool   // only what the run was shown may be changed
	Decision  string // that led to the write; empty without memory skills
	// Metadata is what the caller of the run has every memory say that it makes,
	// beside its content.
	Metadata map[string]any
}

// Class is how a tool is run.
type Class string

const (
	Fast    Class = "fast"    // inside the step, in a transaction of its own
	Slow    Class = "slow"    // an activity of its own
	Control Class = "control" // steers the run; no effect of its own

	// Isolated is an activity on the queue of the sandboxed workers, and is
	// attempted once: what it has begun is never begun again.
	Isolated Class = "isolated"
)

// ToolSet is a group of tools that a workspace may add to its conversations.
type ToolSet string

const (
	SetSkills ToolSet = "skills" // skills step by step: what there is, how it is done, its files
	SetShell  ToolSet = "shell"  // commands of a skill, in a sandbox
)

// ToolSpec is what is known of a tool without its handler.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`  // JSON Schema of the arguments
	Output      json.RawMessage `json:"output"` // JSON Schema of the result
	Class       Class           `json:"class"`
	Origins     []Origin        `json:"origins"` // who may call it
	ReadOnly    bool            `json:"read_only,omitempty"`
	Destructive bool            `json:"destructive,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	Instead     string          `json:"-"`             // what those are told who may not call it
	Set         ToolSet         `json:"set,omitempty"` // that a conversation has to choose; empty for what all have
}

// Allows tells whether o may call the tool.
func (s ToolSpec) Allows(o Origin) bool { return slices.Contains(s.Origins, o) }
