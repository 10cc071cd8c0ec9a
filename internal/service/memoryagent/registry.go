package memoryagent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/tools"
)

// Definition describes an agent: its prompt, tools and limits.
type Definition struct {
	Kind    run.Kind    // summarize, specialist or retrieve
	Type    memory.Type // of a specialist: its memory type
	Version string      // selected by workspace settings; the default is "v1"
	Prompt  string      // name of the prompt templates
	Profile tools.Profile
	Calls   int           // maximum number of model calls; the last one has no tools
	Wall    time.Duration // maximum duration of a run
}

// Limits of the built-in agents.
const (
	usualCalls  = 20
	usualWall   = 15 * time.Minute
	parentWall  = time.Hour // includes the time of its specialists
	askerWall   = 3 * time.Minute
	firstOfKind = "v1"
)

// Registry contains agents by kind, memory type and version.
type Registry struct{ agents []Definition }

// NewRegistry returns a registry with the built-in agents.
func NewRegistry() *Registry {
	r := &Registry{}
	r.agents = append(r.agents,
		Definition{Kind: run.Summarize, Version: firstOfKind, Prompt: "summarize", Profile: tools.MetaSummarizer(),
			Calls: usualCalls, Wall: parentWall},
		Definition{Kind: run.Retrieve, Version: firstOfKind, Prompt: "retrieve", Profile: tools.Retriever(),
			Calls: usualCalls, Wall: askerWall})
	for _, t := range memory.HandOffTypes {
		r.agents = append(r.agents, Definition{Kind: run.Specialist, Type: t, Version: firstOfKind,
			Prompt: "specialist_" + string(t), Profile: tools.Specialist(t), Calls: usualCalls, Wall: usualWall})
	}
	return r
}

// Register adds an agent, or another version of one. The combination of kind, type and version must
// be new.
func (r *Registry) Register(d Definition) error {
	if _, err := r.find(d.Kind, d.Type, d.Version); err == nil || d.Version == "" || d.Prompt == "" || d.Calls < 1 {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("cannot register agent %s %s %q", d.Kind, d.Type, d.Version),
			"set a new version, a prompt and at least 1 call")
	}
	r.agents = append(r.agents, d)
	return nil
}

// find returns a version of an agent. An empty version means the default.
func (r *Registry) find(kind run.Kind, t memory.Type, version string) (Definition, error) {
	if version == "" {
		version = firstOfKind
	}
	var known []string
	for _, d := range r.agents {
		switch {
		case d.Kind != kind || d.Type != t:
		case d.Version == version:
			return d, nil
		default:
			known = append(known, d.Version)
		}
	}
	name := string(t)
	if name == "" {
		name = string(kind)
	}
	return Definition{}, fault.New(fault.InvalidArgument,
		fmt.Sprintf("memory.agents.%s: agent version %q not found", name, version),
		"clear the setting, or use "+strings.Join(known, ", "))
}

// Check returns an error if settings select an unknown agent version.
func (r *Registry) Check(s settings.LongTerm) error {
	for _, kind := range []run.Kind{run.Summarize, run.Retrieve} {
		if _, err := r.chosen(kind, "", s, nil); err != nil {
			return err
		}
	}
	for _, t := range memory.HandOffTypes {
		if _, err := r.chosen(run.Specialist, t, s, nil); err != nil {
			return err
		}
	}
	return nil
}

// chosen returns the agent that the workspace selects, with the options of the request applied.
func (r *Registry) chosen(kind run.Kind, t memory.Type, s settings.LongTerm,
	requested func(settings.LongTerm) settings.LongTerm) (Definition, error) {
	versions := map[memory.Type]string{memory.Personal: s.Agents.Personal, memory.Procedural: s.Agents.Procedural,
		memory.Guideline: s.Agents.Tool, memory.Identity: s.Agents.Identity}
	modes := map[memory.Type]settings.Mode{memory.Personal: s.Modes.Personal, memory.Procedural: s.Modes.Procedural,
		memory.Guideline: s.Modes.Tool, memory.Identity: s.Modes.Identity}
	version, mode := versions[t], modes[t]
	switch kind {
	case run.Summarize:
		version, mode = s.Agents.Summarize, s.Modes.Summarize
	case run.Retrieve:
		version, mode = s.Agents.Retrieve, s.Modes.Retrieve
	}
	if s = mode.Over(s); requested != nil { // the options apply to all agents of the request
		s = requested(s)
	}
	d, err := r.find(kind, t, version)
	if err != nil {
		return d, err
	}
	d.Profile.Names = slices.Clone(d.Profile.Names)
	d.Profile.Options.Typed = s.Profile == settings.Typed
	d.Profile.Options.Multiple = !s.Single && !d.Profile.Options.Typed
	switch s.Thinking {
	case settings.ThinkParameter:
		d.Profile.Options.Thinking = true
	case settings.ThinkNone:
		d.Profile.Options.Unthinking = true
	case settings.ThinkTool:
		d.Profile.Names = append(d.Profile.Names, tools.Think)
	}
	return d, nil
}
