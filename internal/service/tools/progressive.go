package tools

import (
	"fmt"
	"slices"

	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// Options select how the tools of progressive memory are offered to an agent.
type Options struct {
	Type             memory.Type // type of the memories that the agent writes; tool makes when_to_use required
	Multiple         bool        // several items per call; history, summary, identity and meta tools always take one
	Thinking         bool        // adds a required text before all other arguments
	WhenToUse        bool        // add_memory takes when_to_use
	Metadata         bool        // add_memory and add_summary_memory take metadata
	SummaryMemory    bool        // retrieval also searches summaries of sessions
	TypeTarget       bool        // retrieval takes type and target from the call instead of the agent's scope
	TopK             int         // maximum number of memories per query; 0 means 20
	NoRepeats        bool        // retrieval leaves out memories that the run has seen
	ToolMemory       bool        // offers the tool guidelines as a target
	IdentityMemory   bool        // offers the identity as a target
	OutputReflection bool        // think_tool repeats the reflection

	Unthinking bool `json:",omitempty"` // asks the endpoint not to reason before it replies

	Typed bool          `json:",omitempty"` // tools are named after their memory type and take one item per call
	Types []memory.Type `json:",omitempty"` // memory types of the agent; empty for all that its tools support
	Only  []memory.Task `json:",omitempty"` // targets to list and hand off to; empty for all
}

// among returns the types of all that the options allow.
func (o Options) among(all []memory.Type) []memory.Type {
	if len(o.Types) == 0 {
		return all
	}
	left := slices.DeleteFunc(slices.Clone(all), func(t memory.Type) bool { return !slices.Contains(o.Types, t) })
	if len(left) == 0 { // only digests are wanted, which are found by their target
		return all
	}
	return left
}

// DefaultOptions returns the options of an agent without its own.
func DefaultOptions() Options { return Options{Multiple: true, Metadata: true} }

// Profile is the list of tools of one agent, in the order in which the model sees them.
type Profile struct {
	Options Options
	Names   []string
}

// ProgressiveNames are the names of all tools of progressive memory.
var ProgressiveNames = []string{"add_memory", "update_memory", "delete_memory", "vector_retrieve_memory",
	"add_meta_memory", "read_meta_memory", "add_history_memory", "read_history_memory",
	"add_summary_memory", "read_identity_memory", "update_identity_memory", "think_tool", "hands_off"}

// Tools returns the tools of the profile.
func (p Profile) Tools(l *memories.LongTermService) ([]Tool, error) {
	var out []Tool
	for _, name := range p.Names {
		make := makers[name]
		if make == nil {
			return nil, fmt.Errorf("unknown tool %q in progressive memory", name)
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

// makers has the constructor of each tool.
var makers = map[string]func(Options, *memories.LongTermService) (Tool, error){
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

// Specialist returns the tools that manage the memories of one target type. Guidelines are replaced
// by adding, so they have no delete tool. The identity is a document.
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

// MetaSummarizer returns the tools that register the targets of a session, add its digest, and hand
// off to specialists.
func MetaSummarizer() Profile {
	o := DefaultOptions()
	o.ToolMemory, o.IdentityMemory = true, true
	return Profile{Options: o, Names: []string{"add_meta_memory", "add_summary_memory", "hands_off"}}
}

// Retriever returns the tools that search memory. The chat agent has the same tools, and the
// identity in its prompt.
func Retriever() Profile {
	o := DefaultOptions()
	o.TypeTarget, o.SummaryMemory, o.ToolMemory, o.NoRepeats = true, true, true, true
	return Profile{Options: o, Names: []string{"vector_retrieve_memory", "read_history_memory"}}
}

// RetrievalServer returns the tools with which other programs read memory.
func RetrievalServer() Profile {
	p := Retriever()
	p.Options.NoRepeats = false
	p.Names = []string{"read_meta_memory", "vector_retrieve_memory", "read_history_memory"}
	return p
}
