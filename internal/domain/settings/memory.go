package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
)

// Remy is the agent that replies from long-term memory.
const Remy = "remy"

// Builders of long-term memories.
const (
	BuilderAgents = "agents" // the summarizer and its specialists
	BuilderSkills = "skills" // memory skills
)

// Reasoning modes of the agents of long-term memory.
const (
	ThinkNative    = ""      // the model's default
	ThinkNone      = "none"  // the endpoint is asked not to reason
	ThinkParameter = "param" // each tool call has a reasoning text before its arguments
	ThinkTool      = "tool"  // the model reasons in a tool call, never twice in a row
)

// Ways to add a session to memory.
const (
	AddAuto   = "auto"   // fast if the session allows it
	AddFast   = "fast"   // one model call
	AddAgents = "agents" // the summarizer and its specialists
)

// Limits of adds.
const (
	DefaultAddTokens = 8_000
	minAddTokens     = 500
	maxAddTokens     = 100_000
	DefaultOpenAdds  = 256
)

// LongTerm configures how long-term memories are built and found.
type LongTerm struct {
	// Add is how sessions are added to memory: auto (default), fast or agents. fast makes one model
	// call for a session whose subject is known. agents lets the summarizer and its specialists work.
	// auto is fast for such a session of up to AddTokens tokens, and agents for all others.
	Add string `json:"add"`
	// AddTokens is the maximum size of a session, 500 to 100000 tokens, that auto adds with one
	// model call. Waiting sessions are joined up to this size. The default is 8000.
	AddTokens int `json:"add_tokens"`
	// OpenAdds is the number of adds, from 1, that the workspace may have open at once. Further ones
	// are refused with rate_limited. The default is 256.
	OpenAdds int `json:"open_adds"`
	// Person is the name of the person to whom the workspace belongs. It is the subject of sessions
	// whose request names none. Empty, the default, means that the agents find the subjects.
	Person string `json:"person"`
	// Builder is agents (default) or skills.
	Builder string `json:"builder"`
	// Spans is how memory skills divide a session. Empty, the default, means spans of fixed length.
	Spans string `json:"spans"`
	// IdleMinutes is the idle time in minutes, from 0, after the latest turn until a conversation
	// is processed for long-term memory. The default is 30; 0 turns this off.
	IdleMinutes int `json:"idle_minutes"`
	// Thinking is the reasoning mode of the memory agents: empty (the model's default), none, param
	// or tool.
	Thinking string `json:"thinking"`
	// Single limits a tool call to one item. The default is false.
	Single bool `json:"single"`
	// CallPause is the minimum time in milliseconds, from 0, between the starts of two tool calls
	// of one response. The default is 0, no pause.
	CallPause int `json:"call_pause_ms"`
	// Profile selects the names of the memory tools: empty (default), or typed for names such as
	// retrieve_personal_memory.
	Profile string `json:"profile"`
	// Deadline is the time limit in milliseconds, 100 to 60000, for the model that reranks the
	// results of a fast search. 0, the default, means 4000.
	Deadline int `json:"deadline_ms"`
	// Agents pins versions of the memory agents.
	Agents Versions `json:"agents"`
	// Modes overrides Profile, Thinking and Single for single agents.
	Modes Modes `json:"modes"`
	// Skills configures the choice of memory skills.
	Skills MemorySkills `json:"skills"`
	// Learning limits how the policy of memory skills learns from live conversations.
	Learning Learning `json:"learning"`
}

// MemorySkills configures the choice of memory skills.
type MemorySkills struct {
	// K is the number of memory skills, 1 to 30, that are chosen for a span. Live builds, trainings,
	// and the comparisons before a promotion use the same number. The default is 3.
	K int `json:"k"`
}

// Limits of MemorySkills.K.
const (
	DefaultK = 3  // as published for training
	maxK     = 30 // capacity of a bank
)

func (m MemorySkills) validate() error {
	if m.K < 1 || m.K > maxK {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.skills.k is %d", m.K),
			fmt.Sprintf("use 1 to %d skills; the default is %d", maxK, DefaultK))
	}
	return nil
}

// Learning limits how the policy of memory skills learns from live conversations.
type Learning struct {
	// Frozen stops live learning. Live choices are then greedy and use the bank and policy of
	// Version, and no trained policy or bank becomes active automatically. The default is false.
	Frozen bool `json:"frozen"`
	// Version is the version of the default bank that live choices use while Frozen is true. 0, the
	// default, means the active version.
	Version int `json:"version"`
	// ExplorePerDay is the number of choices in any 24 hours, 0 to 100000, that are sampled from
	// the policy's probabilities instead of being greedy. The policy learns only from sampled
	// choices. The default is 20; 0 turns exploration off.
	ExplorePerDay int `json:"explore_per_day"`
	// CanaryPercent is the percentage of live builds, 1 to 50, that try an updated policy before it
	// becomes active. The default is 10.
	CanaryPercent int `json:"canary_percent"`
	// ProbesPerDay is the number of self-test questions in any 24 hours, 0 to 1000, about what
	// memory has just stored, at most 3 for one session. The policy learns from the results as it
	// does from feedback. Each probed session costs one model call. The default is 0, no probes.
	ProbesPerDay int `json:"probes_per_day"`
}

// Upper bounds of Learning.ExplorePerDay and Learning.ProbesPerDay.
const (
	maxExplored = 100_000
	maxProbed   = 1_000
)

func (l Learning) validate() error {
	switch {
	case l.ExplorePerDay < 0 || l.ExplorePerDay > maxExplored:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.learning.explore_per_day is %d", l.ExplorePerDay),
			fmt.Sprintf("use 0 (no exploration) to %d", maxExplored))
	case l.ProbesPerDay < 0 || l.ProbesPerDay > maxProbed:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.learning.probes_per_day is %d", l.ProbesPerDay),
			fmt.Sprintf("use 0 (no probes) to %d", maxProbed))
	case l.CanaryPercent < 1 || l.CanaryPercent > 50:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.learning.canary_percent is %d", l.CanaryPercent),
			"use 1 to 50; the active policy makes the other builds, and both are compared")
	case l.Version < 0:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.learning.version is %d", l.Version),
			"use a version from `cairn bank show --history`, or 0 for the active version")
	case l.Version > 0 && !l.Frozen:
		return fault.New(fault.InvalidArgument,
			"memory.learning.version requires memory.learning.frozen to be true",
			"set both, or set version to 0; to restore an earlier version permanently, run `cairn bank rollback`")
	}
	return nil
}

// Typed is the profile whose tools are named after the type of memory, such as
// retrieve_personal_memory.
const Typed = "typed"

// Modes overrides the mode of single agents.
type Modes struct {
	Summarize  Mode `json:"summarize"`
	Retrieve   Mode `json:"retrieve"`
	Personal   Mode `json:"personal"`
	Procedural Mode `json:"procedural"`
	Tool       Mode `json:"tool"`
	Identity   Mode `json:"identity"`
}

// Mode is how one agent reasons and calls tools. An empty member means the setting for all agents.
type Mode struct {
	Profile  string `json:"profile"`  // usual or typed
	Thinking string `json:"thinking"` // native, none, param or tool
	Calls    string `json:"calls"`    // single or multiple: items in one tool call
}

// Values of a Mode that the settings for all agents do not have.
const (
	Usual         = "usual"
	Native        = "native"
	SingleCalls   = "single"
	MultipleCalls = "multiple"
)

// Over returns s with the members that m overrides.
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

// Versions pins a version for each memory agent. Empty, the default, means the built-in version.
type Versions struct {
	Summarize  string `json:"summarize"`
	Retrieve   string `json:"retrieve"`
	Personal   string `json:"personal"`
	Procedural string `json:"procedural"`
	Tool       string `json:"tool"`
	Identity   string `json:"identity"`
}

// validateAdd checks how sessions are added.
func (m LongTerm) validateAdd() error {
	switch {
	case !slices.Contains([]string{AddAuto, AddFast, AddAgents}, m.Add):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.add is %q", m.Add), "use auto, fast or agents")
	case m.AddTokens < minAddTokens || m.AddTokens > maxAddTokens:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.add_tokens is %d", m.AddTokens),
			fmt.Sprintf("use %d to %d tokens", minAddTokens, maxAddTokens))
	case m.OpenAdds < 1 || m.OpenAdds > maxCount:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.open_adds is %d", m.OpenAdds),
			fmt.Sprintf("use 1 to %d", maxCount))
	case m.Person != strings.TrimSpace(m.Person) || utf8.RuneCountInString(m.Person) > maxPerson:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.person is %.40q", m.Person),
			fmt.Sprintf("use a name of at most %d characters without white space at its ends", maxPerson))
	}
	return nil
}

// maxPerson is the maximum length of Person, in runes.
const maxPerson = 200

func (m LongTerm) validate() error {
	if err := m.validateAdd(); err != nil {
		return err
	}
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
	case m.IdleMinutes < 0 || m.CallPause < 0 || m.IdleMinutes > maxCount || m.CallPause > maxCount:
		return fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("memory.idle_minutes and memory.call_pause_ms must be 0 to %d", maxCount),
			"use 0 to turn idle processing off, or for no pause",
		)
	case m.Deadline != 0 && (m.Deadline < 100 || m.Deadline > 60_000):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memory.deadline_ms is %d", m.Deadline),
			"use 100 to 60000 milliseconds, or 0 for 4000")
	}
	if err := cmp.Or(m.Skills.validate(), m.Learning.validate()); err != nil {
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
