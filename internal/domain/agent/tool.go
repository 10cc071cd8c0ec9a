package agent

import (
	"encoding/json"
	"slices"
	"strings"
)

// Origin is who makes a write. The server derives it from the kind of run, never from a tool
// argument.
type Origin string

const (
	OriginUser       Origin = "user"  // a person, by command line or API
	OriginAgent      Origin = "agent" // the agent that replies to a turn
	OriginNudge      Origin = "nudge"
	OriginReflection Origin = "reflection"
	OriginDistill    Origin = "distill"
	OriginDesigner   Origin = "designer"
	OriginImport     Origin = "import"
)

// Autonomous reports whether the writer is a background run. Such writers change only their own
// items.
func (o Origin) Autonomous() bool {
	switch o {
	case OriginNudge, OriginReflection, OriginDistill, OriginDesigner:
		return true
	}
	return false
}

// Actor identifies on whose behalf a tool runs.
type Actor struct {
	Workspace    int64
	Origin       Origin
	Run          string // run that makes the call, "" outside a run
	Conversation int64  // conversation of the run, 0 if there is none
	Channel      string // voice, sms, chat or scheduled; empty outside a conversation
	FromSeq      int    // first and last message that the run has seen: evidence of its writes
	ToSeq        int
	Op           string // operation ID of this call: its effect happens once under it
	Tainted      bool   // untrusted text has entered the run's context
	Approves     bool   // a person who may approve what waits in the inbox or in quarantine
	Subject      MemoryScope
}

// MemoryScope limits the tools of long-term memory. The server derives it from the run, never from
// a tool argument.
type MemoryScope struct {
	// Type is the memory type. It is empty if the tool's arguments select it, and for people, who
	// may change every type.
	Type    string
	Target  string // key of the target
	History string // ID of the session that the writes are drawn from
	Author  string // model@prompt-hash
	// Fence is the fencing token of the run's lease on the target. A write under an older token is
	// rejected. 0 means no lease.
	Fence     int64
	ShownOnly bool   // only memories that the run was shown can be changed
	Decision  string // decision that led to the write; empty without memory skills
	// Metadata is added to every memory that the run creates, as its caller requested.
	Metadata map[string]any
	// Categories are those that new memories can have; empty for none.
	Categories []Category
}

// Category is a subject of memories that the owner of a workspace defines.
type Category struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Text is what a memory is compared with.
func (c Category) Text() string {
	return strings.TrimSpace(strings.NewReplacer("_", " ", "-", " ").Replace(c.Name) + ": " + c.Description)
}

// Class is how a tool is run.
type Class string

const (
	Fast    Class = "fast"    // inside the step, in its own transaction
	Slow    Class = "slow"    // in its own activity
	Control Class = "control" // controls the run; has no other effect

	// Isolated is an activity on the queue of the sandboxed workers. It has one attempt: a started
	// call is never started again.
	Isolated Class = "isolated"
	// Client is a tool that the client of the API runs. Its calls end the run.
	Client Class = "client"
)

// ToolSet is a group of tools that a workspace can add to its conversations.
type ToolSet string

const (
	SetSkills ToolSet = "skills" // list, view and read skills and their files
	SetShell  ToolSet = "shell"  // run commands of a skill in a sandbox
)

// ToolSpec describes a tool without its handler.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`  // JSON Schema of the arguments
	Output      json.RawMessage `json:"output"` // JSON Schema of the result
	Class       Class           `json:"class"`
	Origins     []Origin        `json:"origins"` // origins that may call it
	ReadOnly    bool            `json:"read_only,omitempty"`
	Destructive bool            `json:"destructive,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	Instead     string          `json:"-"`             // hint for an origin that may not call it
	Larger      string          `json:"-"`             // hint for arguments that are too large
	Set         ToolSet         `json:"set,omitempty"` // set that must be selected; empty for a standard tool
}

// Allows reports whether o may call the tool.
func (s ToolSpec) Allows(o Origin) bool { return slices.Contains(s.Origins, o) }
