package settings

import (
	"fmt"
	"slices"

	"cairn/internal/fault"
)

// Remy is the agent that answers from long-term memory.
const Remy = "remy"

// Who makes long-term memories of what was said.
const (
	BuilderAgents = "agents" // a meta-summarizer and its specialists
	BuilderSkills = "skills" // memory skills
)

// How the agents of long-term memory think.
const (
	ThinkNative    = ""      // as their model does
	ThinkParameter = "param" // each call has a text before its arguments
	ThinkTool      = "tool"  // in a tool, never twice in a row
)

// LongTerm is how long-term memories are made.
type LongTerm struct {
	Builder     string   `json:"builder"`
	IdleMinutes int      `json:"idle_minutes"` // without a turn, after which a conversation is read; 0 is never
	Thinking    string   `json:"thinking"`
	Single      bool     `json:"single"` // one item in a call of a tool
	CallPause   int      `json:"call_pause_ms"`
	Deadline    int      `json:"deadline_ms"` // of a model that goes over what a fast search found; 0 is 4000
	Agents      Versions `json:"agents"`
}

// Versions choose agents; empty is the one that comes with the program.
type Versions struct {
	Summarize  string `json:"summarize"`
	Retrieve   string `json:"retrieve"`
	Personal   string `json:"personal"`
	Procedural string `json:"procedural"`
	Tool       string `json:"tool"`
	Identity   string `json:"identity"`
}

func (m LongTerm) validate() error {
	switch {
	case !slices.Contains([]string{"", BuilderAgents, BuilderSkills}, m.Builder):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.builder is %q", m.Builder), "use agents or skills")
	case !slices.Contains([]string{ThinkNative, ThinkParameter, ThinkTool}, m.Thinking):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.thinking is %q", m.Thinking), "leave it empty, or use param or tool")
	case m.IdleMinutes < 0 || m.CallPause < 0:
		return fault.New(fault.InvalidArgument, "memory.idle_minutes and memory.call_pause_ms cannot be below 0", "use 0 for never, and for no pause")
	case m.Deadline != 0 && (m.Deadline < 100 || m.Deadline > 60_000):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.deadline_ms is %d", m.Deadline), "use 100 to 60000 milliseconds, or 0 for 4000")
	}
	return nil
}
