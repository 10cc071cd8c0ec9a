package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// NewTarget is a target to register.
type NewTarget struct {
	Index       int         `json:"index"`
	Type        memory.Type `json:"memory_type"`
	Target      string      `json:"memory_target"`
	Description string      `json:"description,omitempty"`
}

// RegisteredTarget is the result of a registration.
type RegisteredTarget struct {
	ItemResult
	Target memory.Task `json:"target"`
}

// AddTargets registers targets by the IDs of a client.
func (l *LongTermService) AddTargets(ctx context.Context, a agent.Actor, in []NewTarget) ([]RegisteredTarget, error) {
	return l.addTargets(ctx, a, in, (*writing).registerID)
}

// AddNamedTargets registers targets by names that a model wrote. If a name means a registered target,
// AddNamedTargets returns that target.
func (l *LongTermService) AddNamedTargets(ctx context.Context, a agent.Actor, in []NewTarget) ([]RegisteredTarget,
	error) {
	return l.addTargets(ctx, a, in, (*writing).registerName)
}

func (l *LongTermService) addTargets(ctx context.Context, a agent.Actor, in []NewTarget,
	register func(*writing, context.Context, NewTarget) (memory.Target, bool, error)) ([]RegisteredTarget, error) {
	return Once(ctx, l.Store.InWorkspace, a, "add_meta_memory", in,
		func(ctx context.Context, tx store.Tx) (out []RegisteredTarget, err error) {
			g := &writing{LongTermService: l, tx: tx, a: a, w: WriterFor(a)}
			for _, one := range in {
				t, made, err := register(g, ctx, one)
				if err != nil && !isItemError(err) {
					return nil, err
				}
				r := RegisteredTarget{ItemResult: ItemResult{Status: AlreadyExists},
					Target: memory.Task{Type: one.Type, Target: t.Display}}
				if made {
					r.Status = Added
				}
				if err != nil {
					r.ItemResult = FailedItem(one.Index, err)
				}
				r.Index = one.Index
				out, g.items = append(out, r), append(g.items, r.ItemResult)
			}
			return out, AllFailed(g.items)
		})
}

func (g *writing) registerID(ctx context.Context, in NewTarget) (memory.Target, bool, error) {
	t, err := memory.NewTarget(in.Type, in.Target)
	if err == nil {
		t, err = described(t, in)
	}
	if err != nil {
		return t, false, err
	}
	return g.target(ctx, t, true)
}

func (g *writing) registerName(ctx context.Context, in NewTarget) (memory.Target, bool, error) {
	t, err := memory.NamedTarget(in.Type, in.Target)
	if err == nil {
		t, err = described(t, in)
	}
	if err != nil {
		return t, false, err
	}
	return g.named(ctx, t, in.Target, true)
}

// described returns the target with its description, if it can be registered.
func described(t memory.Target, in NewTarget) (_ memory.Target, err error) {
	if !slices.Contains(memory.Registered, in.Type) {
		return memory.Target{}, fault.New(fault.InvalidArgument,
			fmt.Sprintf("cannot register targets of type %q", in.Type),
			"use personal or procedural; tool and identity have one fixed target each")
	}
	if t.Description, err = memory.NormalizeDescription(in.Description); err != nil {
		return t, err
	}
	_, err = inspectAll(t.Display, t.Description) // prompts contain both
	return t, err
}

// target returns the registered target with the ID of t. If make is set, it registers an unknown
// target.
func (g *writing) target(ctx context.Context, t memory.Target, make bool) (memory.Target, bool, error) {
	known, found, err := g.tx.Targets().Target(ctx, t)
	if err != nil {
		return t, false, err
	}
	return g.settled(ctx, t, known, found, make)
}

// named is target for a name that a person or a model wrote in a text. t is the target to register if
// the name is unknown.
func (g *writing) named(ctx context.Context, t memory.Target, name string, make bool) (memory.Target, bool, error) {
	known, found, err := g.find(ctx, t.Type, name)
	if err != nil {
		return t, false, err
	}
	return g.settled(ctx, t, known, found, make)
}

// find returns the registered target that a name in a text means: the one with this ID, else the only
// one with its folded form.
func (g *writing) find(ctx context.Context, of memory.Type, name string) (memory.Target, bool, error) {
	t, err := memory.NamedTarget(of, memory.UnescapeName(name))
	if err != nil {
		return t, false, err
	}
	alike, err := g.tx.Targets().TargetsAlike(ctx, t, memory.Spellings(name))
	if err != nil {
		return t, false, err
	}
	return memory.ByName(name, alike)
}

func (g *writing) settled(ctx context.Context, t, known memory.Target, found, make bool) (memory.Target, bool, error) {
	switch {
	case found && make:
		_, err := g.tx.Targets().TouchTargets(ctx, []memory.Scope{known.Scope()}, false)
		return known, false, err
	case found:
		return known, false, nil
	case !make:
		return t, false, nil
	}
	t.Run = g.a.Run
	made, err := g.tx.Targets().PutTarget(ctx, t)
	return t, made, err
}

// MetaArgs selects the targets of a listing, and whether it includes tool and identity.
type MetaArgs struct {
	Tools    bool
	Identity bool
	Types    []memory.Type // types of registered targets; empty for all
	Only     []memory.Task // only these targets; empty for all
}

// Meta is the list of targets, as text for a prompt and as values.
type Meta struct {
	Text    string          `json:"text"`
	Targets []memory.Target `json:"-"`
	Total   int             `json:"-"` // number of registered targets, including those not in Text
}

// ReadMeta lists the registered targets. Dangerous names are sanitized and do not cause an error.
func (l *LongTermService) ReadMeta(ctx context.Context, a agent.Actor, in MetaArgs) (out Meta, err error) {
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		if len(in.Only) > 0 {
			out.Targets, err = (&writing{LongTermService: l, tx: tx, a: a}).targets(ctx, in.Only)
			out.Total = len(out.Targets)
			return err
		}
		out.Targets, out.Total, err = tx.Targets().Targets(ctx, memory.MetaLines)
		return err
	})
	if err != nil {
		return Meta{}, fmt.Errorf("read_meta_memory: %w", err)
	}
	if len(in.Types) > 0 {
		all := len(out.Targets)
		out.Targets = slices.DeleteFunc(out.Targets, func(t memory.Target) bool {
			return !slices.Contains(in.Types, t.Type)
		})
		out.Total -= all - len(out.Targets)
	}
	shown := slices.Clone(out.Targets)
	for i, t := range shown {
		shown[i].Display = Sanitize("target", t.Key, t.Display)
		shown[i].Description = Sanitize("target", t.Key, t.Description)
	}
	out.Text = memory.MetaText(shown, out.Total-len(shown), in.Tools, in.Identity)
	return out, nil
}

// targets returns the registered targets of tasks.
func (g *writing) targets(ctx context.Context, tasks []memory.Task) (out []memory.Target, err error) {
	for _, one := range tasks {
		t, err := memory.NewTarget(one.Type, one.Target)
		if err != nil {
			return nil, err
		}
		known, found, err := g.tx.Targets().Target(ctx, t)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, known)
		}
	}
	return out, nil
}

// DescribeTarget sets the description of a target. An empty description restores the default of its
// type. It requires a user.
func (l *LongTermService) DescribeTarget(ctx context.Context, a agent.Actor, in NewTarget) (RegisteredTarget, error) {
	var out RegisteredTarget
	if err := RequirePerson(a, "describing a target"); err != nil {
		return out, err
	}
	t, err := memory.NewTarget(in.Type, in.Target)
	if err != nil {
		return out, err
	}
	description, err := memory.NormalizeDescription(in.Description)
	if err != nil {
		return out, err
	}
	if _, err := inspectAll(description); err != nil {
		return out, err
	}
	return Once(ctx, l.Store.InWorkspace, a, "describe_target", in,
		func(ctx context.Context, tx store.Tx) (RegisteredTarget, error) {
			known, found, err := tx.Targets().Target(ctx, t)
			if err == nil && !found {
				err = notRegistered(memory.Task{Type: in.Type, Target: in.Target})
			}
			if err != nil {
				return out, err
			}
			out = RegisteredTarget{ItemResult: ItemResult{Status: Updated},
				Target: memory.Task{Type: known.Type, Target: known.Display}}
			return out, tx.Targets().DescribeTarget(ctx, known.Row, description)
		})
}

func notRegistered(t memory.Task) error {
	return fault.New(fault.NotFound, fmt.Sprintf("not_registered: target %s(%s) not found", t.Type, t.Target),
		"use a pair from the list of targets, or register the target first")
}
