package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// Typed tools are tools of progressive memory whose names include a memory type or another fixed
// argument. Each takes one item.

// alias is a typed tool, which calls another tool with fixed arguments.
type alias struct {
	name, of    string
	description string
	renamed     map[string]string // names of arguments in the other tool, by their names here
	fixed       map[string]string // arguments given by the name
}

// aliases returns the typed tools that replace the tool of, none if it keeps its name.
func aliases(of string, o Options) []alias {
	switch of {
	case "vector_retrieve_memory":
		return retrieveAliases(o)
	case "read_history_memory":
		return []alias{{name: "retrieve_history", of: of, renamed: map[string]string{"id": "memory_id"}}}
	case "read_meta_memory":
		return []alias{{name: "load_meta_memory", of: of}}
	case "update_memory":
		if o.Type == memory.Guideline {
			return []alias{{name: "update_tool_memory", of: of}}
		}
	case "add_summary_memory":
		return []alias{{name: "summary_context", of: of, renamed: map[string]string{"summary": "summary_memory"}}}
	case "hands_off":
		return []alias{{name: "hand_off_agent", of: of}}
	}
	return nil
}

func retrieveAliases(o Options) (out []alias) {
	types := o.among(memory.HandOffTypes)
	if !o.TypeTarget {
		types = []memory.Type{o.Type}
	}
	for _, t := range types {
		a := alias{name: "retrieve_" + string(t) + "_memory", of: "vector_retrieve_memory",
			description: fmt.Sprintf("Search %s memories by words and meaning.", t), fixed: map[string]string{}}
		if t == memory.Guideline {
			a.renamed, a.description = map[string]string{"tool_name": "query"},
				"Find the guideline of a tool by its exact name."
		}
		if o.TypeTarget {
			a.fixed["memory_type"] = string(t)
			switch t {
			case memory.Guideline:
				a.fixed["memory_target"] = memory.GuidelineTarget
			case memory.Identity:
				a.fixed["memory_target"] = memory.IdentityTarget
			}
		}
		out = append(out, a)
	}
	return out
}

// Base returns the untyped name of a tool.
func Base(name string) string {
	if base, found := bases[name]; found {
		return base
	}
	return name
}

// bases maps typed names to untyped names.
var bases = func() map[string]string {
	out := map[string]string{}
	for _, of := range ProgressiveNames {
		for _, t := range append([]memory.Type{""}, memory.HandOffTypes...) {
			for _, a := range aliases(of, Options{Type: t, TypeTarget: t == ""}) {
				out[a.name] = a.of
			}
		}
	}
	return out
}()

// WithOwnNames replaces tool names in a text by those that the profile's agent has.
func (p Profile) WithOwnNames(text string) string {
	if !p.Options.Typed {
		return text
	}
	var pairs []string
	for _, name := range p.Names {
		var names []string
		for _, a := range aliases(name, p.Options) {
			names = append(names, "`"+a.name+"`")
		}
		if len(names) > 0 {
			pairs = append(pairs, "`"+name+"`", strings.Join(names, " / "))
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// typed returns the typed tools for one tool of the profile.
func typed(of string, o Options, l *memories.LongTermService) ([]Tool, error) {
	t, err := makers[of](o, l)
	if err != nil {
		return nil, err
	}
	all := aliases(of, o)
	if len(all) == 0 {
		return []Tool{t}, nil
	}
	out := make([]Tool, len(all))
	for i, a := range all {
		if out[i], err = a.tool(t); err != nil {
			return nil, fmt.Errorf("tool %s: %w", a.name, err)
		}
	}
	return out, nil
}

// tool returns t under the alias.
func (a alias) tool(t Tool) (Tool, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(t.Input, &s); err != nil {
		return Tool{}, err
	}
	known := slices.Collect(maps.Keys(s.Properties))
	for name := range a.fixed {
		drop(&s, name)
	}
	for here, there := range a.renamed {
		p := s.Properties[there]
		drop(&s, there)
		s.Properties[here] = p
		s.Required = append(s.Required, here)
	}
	spec := t.ToolSpec
	spec.Name = a.name
	if a.description != "" {
		spec.Description = a.description
	}
	var err error
	if spec.Input, err = encodedInOrder(&s, t.Input, a); err != nil {
		return Tool{}, err
	}
	run := func(ctx context.Context, by agent.Actor, arguments json.RawMessage) (any, error) {
		members, err := object(arguments)
		if err != nil {
			return nil, err
		}
		for here, there := range a.renamed {
			delete(members, there)
			if v, given := members[here]; given {
				delete(members, here)
				members[there] = v
			}
		}
		for name, value := range a.fixed {
			if slices.Contains(known, name) {
				members[name], _ = json.Marshal(value) // encoding a string never fails
			}
		}
		raw, err := json.Marshal(members)
		if err != nil {
			return nil, err
		}
		return t.run(ctx, by, raw)
	}
	return Tool{ToolSpec: spec, run: run}, nil
}

// encodedInOrder encodes a schema with the property order of the untyped tool, in which thinking is first.
func encodedInOrder(s *jsonschema.Schema, untyped json.RawMessage, a alias) (json.RawMessage, error) {
	order, err := propertyOrder(untyped)
	if err != nil {
		return nil, err
	}
	s.PropertyOrder = nil
	for _, name := range order {
		for here, there := range a.renamed {
			if there == name {
				name = here
			}
		}
		if s.Properties[name] != nil {
			s.PropertyOrder = append(s.PropertyOrder, name)
		}
	}
	place := func(name string) int { return slices.Index(s.PropertyOrder, name) }
	slices.SortFunc(s.Required, func(a, b string) int { return place(a) - place(b) })
	return encoded(s)
}

// propertyOrder returns the order of properties in an encoded schema.
func propertyOrder(schema json.RawMessage) (out []string, err error) {
	var whole struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &whole); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(whole.Properties)))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return nil, err
		}
		out = append(out, name.(string))
	}
	return out, nil
}
