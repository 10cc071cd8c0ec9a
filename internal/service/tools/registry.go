package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
)

// Registry holds tools in the order in which models see them. The order is part of the cached
// prefix of prompts, so it must be deterministic.
type Registry struct{ tools []Tool }

// NewRegistry returns a registry of tools in the given order. It fails if two tools have the same name.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{}
	for _, t := range tools {
		if _, found := r.find(t.Name); found {
			return nil, fmt.Errorf("duplicate tool name %q", t.Name)
		}
		r.tools = append(r.tools, t)
	}
	return r, nil
}

// Offered returns the tools that o may call, in order. With names, it returns only those.
func (r *Registry) Offered(o agent.Origin, names ...string) []agent.ToolSpec {
	var out []agent.ToolSpec
	for _, t := range r.tools {
		if t.Allows(o) && (len(names) == 0 || slices.Contains(names, t.Name)) {
			out = append(out, t.ToolSpec)
		}
	}
	return out
}

// Call runs a tool. Errors that the caller can handle are returned as a result with ok false. A
// returned error means that the call can be retried.
func (r *Registry) Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (Result, error) {
	t, found := r.find(name)
	if !found {
		return Failure(fault.New(fault.UnknownTool, fmt.Sprintf("unknown tool %q", name), "")), nil
	}
	if !t.Allows(a.Origin) {
		return Failure(fault.New(fault.UnknownTool, fmt.Sprintf("tool %s is not offered here", name), t.Instead)), nil
	}
	out, err := t.run(ctx, a, arguments)
	if err == nil {
		return success(out)
	}
	if f := fault.From(err); !fault.Table[f.Code].Retryable && f.Code != fault.Internal {
		return Failure(f), nil
	}
	return Result{}, fmt.Errorf("%s: %w", name, err)
}

func (r *Registry) find(name string) (Tool, bool) {
	i := slices.IndexFunc(r.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return r.tools[i], true
}
