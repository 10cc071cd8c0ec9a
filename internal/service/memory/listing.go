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

// MaxListed is the maximum number of entries per page.
const MaxListed = 1000

// page validates a filter. The IDs of its targets become keys.
func (l *LongTermService) page(in memory.Filter) (memory.Filter, error) {
	for _, t := range in.Types {
		if !slices.Contains(memory.LongTermTypes, t) {
			return in, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid memory type %q", t),
				fmt.Sprintf("use one or more of %v", memory.LongTermTypes))
		}
	}
	if len(in.Types) == 0 {
		in.Types = memory.LongTermTypes
	}
	if in.Limit < 1 || in.Limit > MaxListed {
		in.Limit = MaxListed
	}
	keys := make([]string, len(in.Targets))
	for i, id := range in.Targets {
		t, err := memory.NewTarget(memory.Personal, id)
		if err != nil {
			return in, err
		}
		keys[i] = t.Key
	}
	slices.Sort(keys)
	in.Targets = slices.Compact(keys)
	return in, nil
}

// Meant returns the ID of the target that a person means by a name: the one with this ID, else the only
// one with its folded form. If no target is registered, it is the name.
func (l *LongTermService) Meant(ctx context.Context, a agent.Actor, name string) (id string, err error) {
	t, err := memory.NamedTarget(memory.Personal, name)
	if err != nil {
		return "", err
	}
	var alike []memory.Target
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		for _, t.Type = range memory.Registered {
			some, err := tx.Targets().TargetsAlike(ctx, t, memory.Spellings(name))
			if err != nil {
				return err
			}
			for _, one := range some { // a name may have a target of each type
				if !slices.ContainsFunc(alike, func(o memory.Target) bool { return o.Key == one.Key }) {
					alike = append(alike, one)
				}
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	known, found, err := memory.ByName(name, alike)
	if !found {
		return name, err
	}
	return known.Key, nil
}

// Page lists entries as List does, and returns how many there are without the limit of the filter.
func (l *LongTermService) Page(
	ctx context.Context,
	a agent.Actor,
	in memory.Filter,
) (out []memory.Entry, count int, err error) {
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		in, err := l.page(in)
		if err != nil {
			return err
		}
		if count, err = tx.LongTerm().CountWhere(ctx, in); err != nil {
			return err
		}
		out, err = tx.Load().LongTermList(ctx, in)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list memories: %w", err)
	}
	return l.shownTo(a, out), count, nil
}

// List lists long-term entries in creation order, or in reverse if Newest is set. To read the next
// page, set After to the Key of the last entry.
func (l *LongTermService) List(ctx context.Context, a agent.Actor, in memory.Filter) (out []memory.Entry, err error) {
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		in, err := l.page(in)
		if err != nil {
			return err
		}
		out, err = tx.Load().LongTermList(ctx, in)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	return l.shownTo(a, out), nil
}

// Get reads entries of any type and status by their IDs, in that order. It skips unknown IDs.
func (l *LongTermService) Get(ctx context.Context, a agent.Actor, ids ...string) (out []memory.Entry, err error) {
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.LongTerm().LongTerm(ctx, ids)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	slices.SortStableFunc(out, func(x, y memory.Entry) int { return slices.Index(ids, x.ID) - slices.Index(ids, y.ID) })
	return l.shownTo(a, out), nil
}

func (l *LongTermService) shownTo(a agent.Actor, entries []memory.Entry) []memory.Entry {
	if a.Origin != agent.OriginUser {
		for i := range entries {
			entries[i] = Sanitized(entries[i])
		}
	}
	return entries
}

// DeleteWhere deletes all long-term memories that match a filter, in one transaction. It requires a
// user and a filter that is not empty.
func (l *LongTermService) DeleteWhere(ctx context.Context, a agent.Actor, in memory.Filter) ([]ItemResult, error) {
	if err := RequirePerson(a, "deleting many memories"); err != nil {
		return nil, err
	}
	if len(in.Types)+len(in.Targets)+len(in.Metadata) == 0 && in.Where == nil {
		return nil, fault.New(fault.InvalidArgument, "filter is required", "filter by type, target or metadata")
	}
	in.EveryStatus, in.Newest, in.After, in.Limit = false, false, 0, MaxListed
	none := []ItemResult{}
	return Once(ctx, l.Store.InWorkspace, a, "delete_memories", in,
		func(ctx context.Context, tx store.Tx) ([]ItemResult, error) {
			g := &writing{LongTermService: l, tx: tx, a: a, w: WriterFor(a), items: none}
			filter, err := l.page(in)
			if err != nil {
				return nil, err
			}
			for {
				entries, err := tx.Load().LongTermList(ctx, filter)
				if err != nil {
					return nil, err
				}
				for _, e := range entries {
					e.Status = memory.Removed
					if err := g.revise(ctx, &e, memory.Remove, false); err != nil {
						return nil, err
					}
					g.items = append(g.items, ItemResult{Index: len(g.items), ID: e.ID, Status: Deleted})
					filter.After = e.Key
				}
				if len(entries) < filter.Limit {
					return g.items, tx.LongTerm().IndexLongTerm(ctx, g.dirty, g.w)
				}
			}
		})
}
