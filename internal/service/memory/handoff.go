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

// NewTask is one pair of memory type and target in a hand-off.
type NewTask struct {
	Index  int
	Type   memory.Type
	Target string
}

// HandOffArgs contains the pairs of a hand-off, and which memory types have a specialist.
type HandOffArgs struct {
	Tasks    []NewTask
	Tools    bool
	Identity bool
	Only     []memory.Task `json:",omitempty"` // allowed targets; empty for all
}

// HandedOff is the result of a hand-off. Tasks contains each accepted pair once, with its
// registered name, in the order of the call. Rejected contains the other pairs.
type HandedOff struct {
	Text     string        `json:"text"`
	Tasks    []memory.Task `json:"tasks"`
	Rejected []ItemResult  `json:"rejected,omitempty"`
}

// HandOff validates a call to hands_off. It has no effect: the caller runs the tasks.
func (l *LongTermService) HandOff(ctx context.Context, a agent.Actor, in HandOffArgs) (out HandedOff, err error) {
	out.Tasks = []memory.Task{}
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		g := &writing{LongTermService: l, tx: tx, a: a}
		for _, one := range in.Tasks {
			t, err := g.task(ctx, in, one)
			switch {
			case err != nil && !isItemError(err):
				return err
			case err != nil:
				out.Rejected = append(out.Rejected, FailedItem(one.Index, err))
			case !slices.Contains(out.Tasks, t):
				out.Tasks = append(out.Tasks, t)
			}
		}
		return nil
	})
	if err == nil && len(out.Tasks) == 0 {
		err = AllFailed(out.Rejected)
	}
	if err != nil {
		return HandedOff{}, fmt.Errorf("hands_off: %w", err)
	}
	out.Text = fmt.Sprintf("%d tasks accepted, %d rejected", len(out.Tasks), len(out.Rejected))
	return out, nil
}

func (g *writing) task(ctx context.Context, in HandOffArgs, one NewTask) (memory.Task, error) {
	if one.Type == memory.Guideline && !in.Tools || one.Type == memory.Identity && !in.Identity ||
		!slices.Contains(memory.HandOffTypes, one.Type) {
		return memory.Task{}, fault.New(fault.OutOfScope, fmt.Sprintf("no specialist for memory type %q", one.Type),
			"hand off only pairs from the list of targets")
	}
	if t, fixed := memory.FixedTarget(one.Type); fixed { // ignore the name that the model uses
		return memory.Task{Type: t.Type, Target: t.Display}, nil
	}
	known, found, err := g.meant(ctx, in.Only, one)
	if err == nil && !found {
		err = notRegistered(memory.Task{Type: one.Type, Target: one.Target})
	}
	return memory.Task{Type: known.Type, Target: known.Display}, err
}

// meant returns the target that the model means by a name. If the request has targets of its own, the
// name means one of them.
func (g *writing) meant(ctx context.Context, only []memory.Task, one NewTask) (memory.Target, bool, error) {
	if len(only) == 0 {
		return g.find(ctx, one.Type, one.Target)
	}
	t, err := memory.NamedTarget(one.Type, memory.UnescapeName(one.Target))
	if err != nil {
		return t, false, err
	}
	allowed, err := g.targets(ctx, only)
	if err != nil {
		return t, false, err
	}
	ids := memory.Spellings(one.Target)
	known, found, err := memory.ByName(one.Target, slices.DeleteFunc(allowed, func(a memory.Target) bool {
		return a.Type != t.Type || !slices.Contains(ids, a.Key) && (t.MatchKey() == "" || a.MatchKey() != t.MatchKey())
	}))
	if err == nil && !found {
		err = fault.New(fault.OutOfScope, fmt.Sprintf("target %q is not part of this request", t.Display),
			"hand off only pairs from the list of targets")
	}
	return known, found, err
}
