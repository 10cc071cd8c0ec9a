package memoryagent

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/skill/memos"
	"cairn/internal/service/longterm"
)

// RequestOptions are what a request decides for its agents. What it leaves open is as
// the workspace's settings and the agent's profile have it.
type RequestOptions struct {
	Multiple       *bool `json:"multiple,omitempty"`        // several items in a call of a tool
	ThinkingParams *bool `json:"thinking_params,omitempty"` // each call has a text before its arguments
	ThinkTool      *bool `json:"think_tool,omitempty"`      // a tool to think in
	ToolMemory     *bool `json:"tool_memory,omitempty"`     // the guidelines of tools are a target
	IdentityMemory *bool `json:"identity_memory,omitempty"` // the identity is a target
	SummaryMemory  *bool `json:"summary_memory,omitempty"`  // retrieval looks into digests of sessions, too
	// a fast search over all of memory finds skills, too; true when left out
	SkillMemory *bool `json:"skill_memory,omitempty"`
	// of memories that are made, or looked for; empty for all
	Types []memory.Type `json:"types,omitempty"`
	// targets that a session is about, and no others; empty for all
	Only []memory.Task `json:"only,omitempty"`
	// what is to be remembered, in the requester's words
	Guidance string `json:"guidance,omitempty"`
	// Metadata is what every memory says that a specialist of the request makes.
	Metadata memory.Metadata `json:"metadata,omitempty"`
}

func (c RequestOptions) none() bool {
	return c.Multiple == nil && c.ThinkingParams == nil && c.ThinkTool == nil && c.ToolMemory == nil &&
		c.IdentityMemory == nil && c.SummaryMemory == nil && c.SkillMemory == nil && c.Guidance == "" &&
		len(c.Types)+len(c.Only)+len(c.Metadata) == 0
}

// orNil leaves no choices out of what is stored, so that a request without any
// is the same as before there were some.
func (c RequestOptions) orNil() *RequestOptions {
	if c.none() {
		return nil
	}
	return &c
}

// mostGuidance bounds what a requester says of what is to be remembered, in runes.
const mostGuidance = 4000

func isTrue(b *bool) bool { return b != nil && *b }

func (c RequestOptions) check(allowed []memory.Type) error {
	if isTrue(c.ThinkingParams) && isTrue(c.ThinkTool) {
		return fault.New(fault.InvalidArgument, "enable_thinking_params and add_think_tool are two ways to think",
			"choose one of them")
	}
	if n := utf8.RuneCountInString(c.Guidance); n > mostGuidance {
		return fault.New(fault.TooLarge, fmt.Sprintf("the guidance has %d characters, at most %d are taken", n,
			mostGuidance), "say what is to be remembered in fewer words")
	}
	for _, t := range c.Types {
		if !slices.Contains(allowed, t) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("there is no memory type %q here", t),
				fmt.Sprintf("use some of %v", allowed))
		}
	}
	return longterm.CheckMetadata(c.Metadata)
}

// over are the settings with what was chosen in their place.
func (c RequestOptions) over(s settings.LongTerm) settings.LongTerm {
	if c.Multiple != nil {
		s.Single = !*c.Multiple
	}
	switch {
	case isTrue(c.ThinkTool):
		s.Thinking = settings.ThinkTool
	case isTrue(c.ThinkingParams):
		s.Thinking = settings.ThinkParameter
	case c.ThinkTool != nil && s.Thinking == settings.ThinkTool,
		c.ThinkingParams != nil && s.Thinking == settings.ThinkParameter:
		s.Thinking = settings.ThinkNative
	}
	return s
}

// has tells whether memories of a type are made or looked for.
func (c RequestOptions) has(t memory.Type) bool {
	return len(c.Types) == 0 || slices.Contains(c.Types, t)
}

// agent is the agent with what was chosen for its tools.
func (c RequestOptions) agent(d Definition) Definition {
	o := &d.Profile.Options
	set := func(to *bool, chosen *bool) {
		if chosen != nil {
			*to = *chosen
		}
	}
	set(&o.ToolMemory, c.ToolMemory)
	set(&o.IdentityMemory, c.IdentityMemory)
	set(&o.SummaryMemory, c.SummaryMemory)
	o.ToolMemory = o.ToolMemory && c.has(memory.Guideline)
	o.IdentityMemory = o.IdentityMemory && c.has(memory.Identity)
	if d.Kind == run.Retrieve {
		o.SummaryMemory = o.SummaryMemory && c.has(memory.Summary)
	}
	o.Types, o.Only = c.Types, c.Only
	if !c.has(memory.Personal) && !c.has(memory.Procedural) { // nothing is left to register
		d.Profile.Names = slices.DeleteFunc(d.Profile.Names, func(name string) bool {
			return name == "add_meta_memory"
		})
	}
	return d
}

// searched are the types that a search over all of memory looks into.
func (c RequestOptions) searched() (out []memory.Type) {
	for _, t := range memory.LongTermTypes {
		off := t == memory.Guideline && c.ToolMemory != nil && !*c.ToolMemory || t == memory.Summary &&
			c.SummaryMemory != nil && !*c.SummaryMemory
		if c.has(t) && !off {
			out = append(out, t)
		}
	}
	return out
}

// skills tells whether such a search finds skills, too.
func (c RequestOptions) skills() bool {
	return c.has(memos.MemoryType) && (c.SkillMemory == nil || *c.SkillMemory)
}

// withoutSkills are the choices as those are told that look for memories alone.
func (c RequestOptions) withoutSkills() RequestOptions {
	c.SkillMemory = nil
	if types := slices.DeleteFunc(slices.Clone(c.Types), func(t memory.Type) bool {
		return t == memos.MemoryType
	}); len(types) > 0 || len(c.Types) == 0 {
		c.Types = types
	}
	return c
}
