package memoryagent

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/skill"
	memories "cairn/internal/service/memory"
)

// RequestOptions are the options of a request. The workspace settings and the profile of the agent
// supply the rest.
type RequestOptions struct {
	Multiple       *bool `json:"multiple,omitempty"`        // several items per tool call
	ThinkingParams *bool `json:"thinking_params,omitempty"` // each call has a reasoning text before its arguments
	ThinkTool      *bool `json:"think_tool,omitempty"`      // offer a tool for reasoning
	ToolMemory     *bool `json:"tool_memory,omitempty"`     // tool guidelines are a target
	IdentityMemory *bool `json:"identity_memory,omitempty"` // the identity is a target
	SummaryMemory  *bool `json:"summary_memory,omitempty"`  // search session summaries, too
	// Include skills in a fast search over all memories. The default is true.
	SkillMemory *bool `json:"skill_memory,omitempty"`
	// Memory types to write or to search. Empty means all.
	Types []memory.Type `json:"types,omitempty"`
	// Allowed targets of a session. Empty means all.
	Only []memory.Task `json:"only,omitempty"`
	// What to remember, in the words of the caller.
	Guidance string `json:"guidance,omitempty"`
	// Metadata that specialists add to every memory.
	Metadata memory.Metadata `json:"metadata,omitempty"`
	// Categories that memories can have.
	Categories []agent.Category `json:"categories,omitempty"`
}

func (c RequestOptions) none() bool {
	return c.Multiple == nil && c.ThinkingParams == nil && c.ThinkTool == nil && c.ToolMemory == nil &&
		c.IdentityMemory == nil && c.SummaryMemory == nil && c.SkillMemory == nil && c.Guidance == "" &&
		len(c.Types)+len(c.Only)+len(c.Metadata)+len(c.Categories) == 0
}

// orNil returns nil if no option is set, so that the stored request, and its hash, do not contain
// empty options.
func (c RequestOptions) orNil() *RequestOptions {
	if c.none() {
		return nil
	}
	return &c
}

// maxGuidance is the maximum length of Guidance, in runes.
const maxGuidance = 4000

func isTrue(b *bool) bool { return b != nil && *b }

func (c RequestOptions) check(allowed []memory.Type) error {
	if isTrue(c.ThinkingParams) && isTrue(c.ThinkTool) {
		return fault.New(fault.InvalidArgument, "enable_thinking_params and add_think_tool cannot be combined",
			"set only one of them")
	}
	if n := utf8.RuneCountInString(c.Guidance); n > maxGuidance {
		return fault.New(fault.TooLarge, fmt.Sprintf("guidance has %d characters, want at most %d", n,
			maxGuidance), "shorten the guidance")
	}
	for _, t := range c.Types {
		if !slices.Contains(allowed, t) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid memory type %q", t),
				fmt.Sprintf("use one or more of %v", allowed))
		}
	}
	return memories.CheckMetadata(c.Metadata)
}

// over returns the settings with the options applied.
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

// has reports whether the options include a memory type.
func (c RequestOptions) has(t memory.Type) bool {
	return len(c.Types) == 0 || slices.Contains(c.Types, t)
}

// agent returns the definition with the options applied to its tools.
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
	if !c.has(memory.Personal) && !c.has(memory.Procedural) { // there are no targets to register
		d.Profile.Names = slices.DeleteFunc(d.Profile.Names, func(name string) bool {
			return name == "add_meta_memory"
		})
	}
	return d
}

// searched returns the types that a search over all memories includes.
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

// skills reports whether a search over all memories includes skills.
func (c RequestOptions) skills() bool {
	return c.has(skill.MemoryType) && (c.SkillMemory == nil || *c.SkillMemory)
}

// withoutSkills returns the options for agents, which search memories only.
func (c RequestOptions) withoutSkills() RequestOptions {
	c.SkillMemory = nil
	if types := slices.DeleteFunc(slices.Clone(c.Types), func(t memory.Type) bool {
		return t == skill.MemoryType
	}); len(types) > 0 || len(c.Types) == 0 {
		c.Types = types
	}
	return c
}
