package tools

import (
	"fmt"
	"slices"

	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
)

// Options choose how the tools of progressive memory are offered to an agent.
type Options struct {
	Type             memory.Type // of the memories that the agent writes; tool makes when_to_use required
	Multiple         bool        // several items in a call; history, summary, identity and meta tools take one anyway
	Thinking         bool        // a required text before all other arguments
	WhenToUse        bool        // add_memory takes when_to_use
	Metadata         bool        // add_memory and add_summary_memory take metadata
	SummaryMemory    bool        // retrieval looks into summaries of sessions, too
	TypeTarget       bool        // retrieval takes type and target from the call, and not from the agent's scope
	TopK             int         // memories that one query finds at most; 0 means 20
	NoRepeats        bool        // retrieval leaves out what the run was shown before
	ToolMemory       bool        // the tool guidelines are a target
	IdentityMemory   bool        // the identity is a target
	OutputReflection bool        // think_tool repeats the reflection

	Unthinking bool `json:",omitempty"` // the endpoint is asked not to reason before it answers

	Typed bool          `json:",omitempty"` // tools under names that say what they are about, one item a call
	Types []memory.Type `json:",omitempty"` // that the agent works on, of those that its tools know; empty for all
	Only  []memory.Task `json:",omitempty"` // targets that are listed and handed to; empty for all
}

// among are the types of all that the options leave.
func (o Options) among(all []memory.Type) []memory.Type {
	if len(o.Types) == 0 {
		return all
	}
	left := slices.DeleteFunc(slices.Clone(all), func(t memory.Type) bool { return !slices.Contains(o.Types, t) })
	if len(left) == 0 { // digests alone are wanted: they are found by whom they are about
		return all
	}
	return left
}

// DefaultOptions are what an agent has that chose nothing.
func DefaultOptions() Options { return Options{Multiple: true, Metadata: true} }

// Profile is the tools of one agent, in the order in which it is told of them.
type Profile struct {
	Options Options
	Names   []string
}

// ProgressiveNames are all tools of progressive memory.
var ProgressiveNames = []string{"add_memory", "update_memory", "delete_memory", "vector_retrieve_memory",
	"add_meta_memory", "read_meta_memory", "add_history_memory", "read_history_memory",
	"add_summary_memory", "read_identity_memory", "update_identity_memory", "think_tool", "hands_off"}

// Tools makes the tools of the profile.
func (p Profile) Tools(l *longterm.Service) ([]Tool, error) {
	var out []Tool
	for _, name := range p.Names {
		make := makers[name]
		if make == nil {
			return nil, fmt.Errorf("there is no tool %q in progressive memory", name)
		}
		if p.Options.Typed {
			all, err := typed(name, p.Options, l)
			if err != nil {
				return nil, err
			}
			out = append(out, all...)
			continue
		}
		t, err := make(p.Options, l)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// makers make one tool each.
var makers = map[string]func(Options, *longterm.Service) (Tool, error){
	"add_memory":             addMemory,
	"update_memory":          updateMemory,
	"delete_memory":          deleteMemory,
	"vector_retrieve_memory": vectorRetrieveMemory,
	"add_meta_memory":        addMetaMemory,
	"read_meta_memory":       readMetaMemory,
	"add_history_memory":     addHistoryMemory,
	"read_history_memory":    readHistoryMemory,
	"add_summary_memory":     addSummaryMemory,
	"read_identity_memory":   readIdentityMemory,
	"update_identity_memory": updateIdentityMemory,
	"think_tool":             thinkTool,
	"hands_off":              handsOff,
}

// Specialist is who looks after the memories of one target. A tool's guidelines
// are replaced by adding, so nobody deletes them; the identity is a document.
func Specialist(t memory.Type) Profile {
	o := DefaultOptions()
	o.Type = t
	names := []string{"add_memory", "update_memory", "delete_memory", "vector_retrieve_memory"}
	switch t {
	case memory.Guideline:
		names = slices.Delete(names, 2, 3)
	case memory.Identity:
		names = []string{"read_identity_memory", "update_identity_memory"}
	}
	return Profile{Options: o, Names: names}
}

// MetaSummarizer registers whom a session was about, leaves its digest, and
// hands the rest off to specialists.
func MetaSummarizer() Profile {
	o := DefaultOptions()
	o.ToolMemory, o.IdentityMemory = true, true
	return Profile{Options: o, Names: []string{"add_meta_memory", "add_summary_memory", "hands_off"}}
}

// Retriever answers from memory; the chat agent has the same tools, and the
// identity in its prompt.
func Retriever() Profile {
	o := DefaultOptions()
	o.TypeTarget, o.SummaryMemory, o.ToolMemory, o.NoRepeats = true, true, true, true
	return Profile{Options: o, Names: []string{"vector_retrieve_memory", "read_history_memory"}}
}

// RetrievalServer is what other programs are offered of memory: to read it.
func RetrievalServer() Profile {
	p := Retriever()
	p.Options.NoRepeats = false
	p.Names = []string{"read_meta_memory", "vector_retrieve_memory", "read_history_memory"}
	return p
}
