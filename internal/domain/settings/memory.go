package settings

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
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
	ThinkNone      = "none"  // not at all: the endpoint is asked not to reason
	ThinkParameter = "param" // each call has a text before its arguments
	ThinkTool      = "tool"  // in a tool, never twice in a row
)

// LongTerm is how long-term memories are made.
type LongTerm struct {
	Builder     string   `json:"builder"`
	Spans       string   `json:"spans"`        // how memory skills cut a session: empty for fixed-length
	IdleMinutes int      `json:"idle_minutes"` // without a turn, after which a conversation is read; 0 is never
	Thinking    string   `json:"thinking"`
	Single      bool     `json:"single"` // one item in a call of a tool
	CallPause   int      `json:"call_pause_ms"`
	Profile     string   `json:"profile"`     // names of the tools: empty for the usual ones, or typed
	Deadline    int      `json:"deadline_ms"` // of a model that goes over what a fast search found; 0 is 4000
	Agents      Versions `json:"agents"`
	Modes       Modes    `json:"modes"` // of agents that differ from the rest
	Learning    Learning `json:"learning"`
}

// Learning is what the policy of memory skills may do with live conversations.
type Learning struct {
	// Frozen is the kill-switch: live choices are greedy, by the bank and the policy
	// of Version, and nothing that is learnt comes into force by itself.
	Frozen bool `json:"frozen"`
	// Version is that of the default bank which live choices are made with while
	// Frozen; 0 is the one in force.
	Version int `json:"version"`
	// ExplorePerDay is how many choices of any 24 hours may be drawn by the policy's
	// probabilities in place of the best: only from these can it learn. 0 is none.
	ExplorePerDay int `json:"explore_per_day"`
	// CanaryPercent is the share of live builds by which an updated policy is tried
	// before it comes into force, 1–50.
	CanaryPercent int `json:"canary_percent"`
	// ProbesPerDay is how many questions of any 24 hours memory may ask itself about
	// what it has just remembered, at most 3 for one session: how it answers is learnt
	// from like feedback. 0 is none. Each session that is probed costs a model call.
	ProbesPerDay int `json:"probes_per_day"`
}

// Bounds of Learning.ExplorePerDay and Learning.ProbesPerDay.
const (
	mostExplored = 100_000
	mostProbed   = 1_000
)

func (l Learning) validate() error {
	switch {
	case l.ExplorePerDay < 0 || l.ExplorePerDay > mostExplored:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.learning.explore_per_day is %d", l.ExplorePerDay),
			fmt.Sprintf("use 0, which explores nothing, to %d", mostExplored))
	case l.ProbesPerDay < 0 || l.ProbesPerDay > mostProbed:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.learning.probes_per_day is %d", l.ProbesPerDay),
			fmt.Sprintf("use 0, which asks nothing, to %d", mostProbed))
	case l.CanaryPercent < 1 || l.CanaryPercent > 50:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.learning.canary_percent is %d", l.CanaryPercent),
			"use 1 to 50: the policy in force makes the other builds, and both are compared")
	case l.Version < 0:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.learning.version is %d", l.Version),
			"use a version of `cairn bank show --history`, or 0 for the one in force")
	case l.Version > 0 && !l.Frozen:
		return fault.New(fault.InvalidArgument,
			"memory.learning.version is of use only while memory.learning.frozen is true",
			"set both, or leave version at 0; cairn bank rollback goes back for good")
	}
	return nil
}

// Typed is the profile whose tools are named after what they are about, such as
// retrieve_personal_memory.
const Typed = "typed"

// Modes are how single agents differ.
type Modes struct {
	Summarize  Mode `json:"summarize"`
	Retrieve   Mode `json:"retrieve"`
	Personal   Mode `json:"personal"`
	Procedural Mode `json:"procedural"`
	Tool       Mode `json:"tool"`
	Identity   Mode `json:"identity"`
}

// Mode is how one agent thinks and calls tools. What is empty is as for all.
type Mode struct {
	Profile  string `json:"profile"`  // usual or typed
	Thinking string `json:"thinking"` // native, none, param or tool
	Calls    string `json:"calls"`    // single or multiple: items in a call of a tool
}

// Values of a Mode, beside those that hold for all agents.
const (
	Usual         = "usual"
	Native        = "native"
	SingleCalls   = "single"
	MultipleCalls = "multiple"
)

// Over are the settings for an agent of the mode.
func (m Mode) Over(s LongTerm) LongTerm {
	if m.Profile != "" {
		s.Profile = strings.TrimPrefix(m.Profile, Usual)
	}
	if m.Thinking != "" {
		s.Thinking = strings.TrimPrefix(m.Thinking, Native)
	}
	if m.Calls != "" {
		s.Single = m.Calls == SingleCalls
	}
	return s
}

func (m Mode) validate(name string) error {
	for what, v := range map[string]struct {
		value   string
		allowed []string
	}{"profile": {m.Profile, []string{"", Usual, Typed}},
		"thinking": {m.Thinking, []string{"", Native, ThinkNone, ThinkParameter, ThinkTool}},
		"calls":    {m.Calls, []string{"", SingleCalls, MultipleCalls}}} {
		if !slices.Contains(v.allowed, v.value) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.modes.%s.%s is %q", name, what, v.value),
				"leave it empty, or use one of "+strings.Join(v.allowed[1:], ", "))
		}
	}
	return nil
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
	case m.Spans != "" && !slices.Contains(executor.Modes, m.Spans):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.spans is %q", m.Spans),
			"leave it empty, or use one of "+strings.Join(executor.Modes, ", "))
	case !slices.Contains([]string{ThinkNative, ThinkNone, ThinkParameter, ThinkTool}, m.Thinking):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.thinking is %q", m.Thinking),
			"leave it empty, or use none, param or tool")
	case m.Profile != "" && m.Profile != Typed:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.profile is %q", m.Profile),
			"leave it empty, or use "+Typed)
	case m.IdleMinutes < 0 || m.CallPause < 0:
		return fault.New(fault.InvalidArgument, "memory.idle_minutes and memory.call_pause_ms cannot be below 0",
			"use 0 for never, and for no pause")
	case m.Deadline != 0 && (m.Deadline < 100 || m.Deadline > 60_000):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.deadline_ms is %d", m.Deadline),
			"use 100 to 60000 milliseconds, or 0 for 4000")
	}
	if err := m.Learning.validate(); err != nil {
		return err
	}
	for name, mode := range map[string]Mode{"summarize": m.Modes.Summarize, "retrieve": m.Modes.Retrieve,
		"personal": m.Modes.Personal, "procedural": m.Modes.Procedural, "tool": m.Modes.Tool,
		"identity": m.Modes.Identity} {
		if err := mode.validate(name); err != nil {
			return err
		}
	}
	return nil
}
