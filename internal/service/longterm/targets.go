package longterm

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/memorywrite"
)

// NewTarget is a target to be registered.
type NewTarget struct {
	Index       int         `json:"index"`
	Type        memory.Type `json:"memory_type"`
	Target      string      `json:"memory_target"`
	Description string      `json:"description,omitempty"`
}

// RegisteredTarget is what became of one.
type RegisteredTarget struct {
	ItemResult
	Target memory.Task `json:"target"`
}

// AddTargets registers targets. Another spelling of one that is there finds it.
func (l *Service) AddTargets(ctx context.Context, a agent.Actor, in []NewTarget) (out []RegisteredTarget, err error) {
	return memorywrite.Once(ctx, l.Store.WithLongTerm, a, "add_meta_memory", in,
		func(ctx context.Context, tx Tx) (out []RegisteredTarget, err error) {
			g := &writing{Service: l, tx: tx, a: a, w: memorywrite.WriterFor(a, l.Space)}
			for _, one := range in {
				t, made, err := g.register(ctx, one)
				if err != nil && !mine(err) {
					return nil, err
				}
				r := RegisteredTarget{ItemResult: ItemResult{Status: AlreadyExists},
					Target: memory.Task{Type: one.Type, Target: t.Display}}
				if made {
					r.Status = memorywrite.Added
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

func (g *writing) register(ctx context.Context, in NewTarget) (memory.Target, bool, error) {
	if !slices.Contains(memory.Registered, in.Type) {
		return memory.Target{}, false, fault.New(fault.InvalidArgument,
			fmt.Sprintf("targets of type %q are not registered", in.Type),
			"use personal or procedural; tool and identity have one target each")
	}
	t, err := memory.NewTarget(in.Type, in.Target)
	if err != nil {
		return t, false, err
	}
	if t.Description, err = memory.NormaliseDescription(in.Description); err != nil {
		return t, false, err
	}
	if _, err := inspectAll(t.Display, t.Description); err != nil { // both stand in prompts
		return t, false, err
	}
	return g.target(ctx, t, true)
}

// target finds what is meant by a target as it is written: by its key, by a name
// that it has had, by the same letters, or as a line spells it.
func (g *writing) target(ctx context.Context, t memory.Target, make bool) (memory.Target, bool, error) {
	known, found, err := g.findTarget(ctx, t)
	if err != nil {
		return t, false, err
	}
	if found {
		if known.Key != t.Key && make {
			if err := g.tx.Targets().AliasTarget(ctx, known.Row, t.Key); err != nil {
				return known, false, err
			}
		}
		if make {
			err = g.tx.Targets().TouchTarget(ctx, known.Row, false)
		}
		return known, false, err
	}
	if !make {
		return t, false, nil
	}
	t.Run = g.a.Run
	made, err := g.tx.Targets().PutTarget(ctx, t)
	return t, made, err
}

func (g *writing) findTarget(ctx context.Context, t memory.Target) (memory.Target, bool, error) {
	known, found, err := g.tx.Targets().FindTarget(ctx, t)
	if err != nil || found {
		return known, found, err
	}
	if plain := memory.UnescapeName(t.Display); plain != t.Display {
		if u, err := memory.NewTarget(t.Type, plain); err == nil {
			return g.tx.Targets().FindTarget(ctx, u)
		}
	}
	return memory.Target{}, false, nil
}

// MetaArgs say which lines beside the registered ones are wanted.
type MetaArgs struct {
	Tools    bool
	Identity bool
	Types    []memory.Type // of the registered targets; empty for all
	Only     []memory.Task // these targets and no others; empty for all
}

// Meta is the targets as a prompt shows them.
type Meta struct {
	Text    string          `json:"text"`
	Targets []memory.Target `json:"-"`
	Total   int             `json:"-"` // registered ones, those that are not shown too
}

// ReadMeta lists the targets in force; it never fails on what they are called.
func (l *Service) ReadMeta(ctx context.Context, a agent.Actor, in MetaArgs) (out Meta, err error) {
	err = l.Store.WithLongTerm(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		if len(in.Only) > 0 {
			out.Targets, err = (&writing{Service: l, tx: tx, a: a}).targets(ctx, in.Only)
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
		shown[i].Display = memorywrite.Sanitize("target", t.Key, t.Display)
		shown[i].Description = memorywrite.Sanitize("target", t.Key, t.Description)
	}
	out.Text = memory.MetaText(shown, out.Total-len(shown), in.Tools, in.Identity)
	return out, nil
}

// targets are those of tasks that are registered.
func (g *writing) targets(ctx context.Context, tasks []memory.Task) (out []memory.Target, err error) {
	for _, one := range tasks {
		t, err := memory.NewTarget(one.Type, one.Target)
		if err != nil {
			return nil, err
		}
		known, found, err := g.findTarget(ctx, t)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, known)
		}
	}
	return out, nil
}

// DescribeTarget sets what a target's line says; empty goes back to the sentence
// of its type. It is for people.
func (l *Service) DescribeTarget(ctx context.Context, a agent.Actor, in NewTarget) (RegisteredTarget, error) {
	var out RegisteredTarget
	if err := memorywrite.RequirePerson(a, "describing a target"); err != nil {
		return out, err
	}
	t, err := memory.NewTarget(in.Type, in.Target)
	if err != nil {
		return out, err
	}
	description, err := memory.NormaliseDescription(in.Description)
	if err != nil {
		return out, err
	}
	if _, err := inspectAll(description); err != nil {
		return out, err
	}
	return memorywrite.Once(ctx, l.Store.WithLongTerm, a, "describe_target", in,
		func(ctx context.Context, tx Tx) (RegisteredTarget, error) {
			known, found, err := (&writing{Service: l, tx: tx, a: a}).findTarget(ctx, t)
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
	return fault.New(fault.NotFound, fmt.Sprintf("not_registered: there is no target %s(%s)", t.Type, t.Target),
		"use a pair that stands in the list of targets, or register it with add_meta_memory first")
}
