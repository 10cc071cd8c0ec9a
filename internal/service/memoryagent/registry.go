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

// Definition is an agent: what it is told, what it can do, how long it may take.
type Definition struct {
	Kind    run.Kind    // summarize, specialist or retrieve
	Type    memory.Type // of a specialist: what it looks after
	Version string      // workspaces choose by it; "v1" is the usual one
	Prompt  string      // name of its templates
	Profile tools.Profile
	Steps   int           // responses with tools; then comes one without
	Wall    time.Duration // of a run
}

// Limits of the agents that come with the program.
const (
	usualSteps  = 20
	usualWall   = 15 * time.Minute
	parentWall  = time.Hour // its specialists' time is its own, too
	askerWall   = 3 * time.Minute
	firstOfKind = "v1"
)

// Registry is the agents that there are, by kind, type and version.
type Registry struct{ agents []Definition }

// NewRegistry has the agents that come with the program.
func NewRegistry() *Registry {
	r := &Registry{}
	r.agents = append(r.agents,
		Definition{Kind: run.Summarize, Version: firstOfKind, Prompt: "summarize", Profile: tools.MetaSummarizer(),
			Steps: usualSteps, Wall: parentWall},
		Definition{Kind: run.Retrieve, Version: firstOfKind, Prompt: "retrieve", Profile: tools.Retriever(),
			Steps: usualSteps, Wall: askerWall})
	for _, t := range memory.HandOffTypes {
		r.agents = append(r.agents, Definition{Kind: run.Specialist, Type: t, Version: firstOfKind,
			Prompt: "specialist_" + string(t), Profile: tools.Specialist(t), Steps: usualSteps, Wall: usualWall})
	}
	return r
}

// Register adds an agent, or another version of one.
func (r *Registry) Register(d Definition) error {
	if _, err := r.find(d.Kind, d.Type, d.Version); err == nil || d.Version == "" || d.Prompt == "" || d.Steps < 1 {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("agent %s %s %q cannot be registered", d.Kind, d.Type, d.Version),
			"give it a version of its own, a prompt and steps")
	}
	r.agents = append(r.agents, d)
	return nil
}

// find gives the agent of a version; empty is the usual one.
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
		fmt.Sprintf("there is no version %q of the agent memory.agents.%s", version, name),
		"leave the setting empty, or use "+strings.Join(known, ", "))
}

// Check refuses settings that choose an agent which is not there.
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

// chosen is the agent as a workspace has it, and then as the request wants it.
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
	if s = mode.Over(s); requested != nil { // a request decides for all of its agents
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
