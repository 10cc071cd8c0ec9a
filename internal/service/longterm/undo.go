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

// RestoreArgs bring a memory back to what it said.
type RestoreArgs struct {
	ID      string `json:"memory_id"`
	Version int    `json:"version,omitempty"` // 0 for what it said last
}

// erasedAtOnce bounds what goes for good in one transaction.
const erasedAtOnce = 1000

// Restore makes a memory say again what it said, whatever its status. It is for
// people.
func (l *Service) Restore(ctx context.Context, a agent.Actor, in RestoreArgs) ([]ItemResult, error) {
	if err := memorywrite.RequirePerson(a, "restoring a memory"); err != nil {
		return nil, err
	}
	return l.change(ctx, a, "restore_memory", in, nil, func(g *writing) error {
		// nothing comes back after its time
		if _, err := g.tx.References().EraseDeleted(ctx, erasedAtOnce); err != nil {
			return err
		}
		found, err := g.tx.Memories().LongTerm(ctx, []string{in.ID})
		if err != nil {
			return err
		}
		if len(found) == 0 || !slices.Contains(memory.LongTermTypes, found[0].Type) {
			return fault.New(fault.NotFound, fmt.Sprintf("there is no memory %q", in.ID),
				"what was deleted is gone for good after the workspace's limits.undo_days")
		}
		e := found[0]
		version := in.Version
		if version == 0 {
			version = e.Version
		}
		r, err := g.tx.Memories().RevisionAt(ctx, e.Key, version)
		if err != nil {
			return err
		}
		r.Status = memory.Active
		return g.done(0, ItemResult{ID: e.ID, Status: Restored}, g.back(ctx, e, r, memory.Restore))
	})
}

// back writes what a revision says as the version after e.
func (g *writing) back(ctx context.Context, e memory.Entry, r memory.Revision, action memory.Action) error {
	e.Content, e.WhenToUse, e.Metadata, e.Targets, e.Status, e.SupersededBy = r.Content, r.WhenToUse, r.Metadata,
		r.Targets, r.Status, ""
	e.Tainted = r.Tainted && !g.w.Person
	if e.Status == memory.Active {
		other, found, err := g.inPlaceOf(ctx, e)
		if err != nil {
			return err
		}
		if found && other.Key != e.Key {
			return fault.New(fault.VersionConflict, fmt.Sprintf("memory %s says it now", other.ID),
				"delete that one first, or leave it")
		}
	}
	g.w.Author = r.Author
	e.Author = r.Author
	if err := g.tx.Memories().Revise(ctx, &e, action, g.w); err != nil {
		return err
	}
	g.changed(e)
	return nil
}

// inPlaceOf finds the active entry beside which e cannot stand.
func (g *writing) inPlaceOf(ctx context.Context, e memory.Entry) (memory.Entry, bool, error) {
	switch e.Type {
	case memory.Guideline:
		return g.tx.Views().GuidelineOf(ctx, e.WhenToUse)
	case memory.Summary:
		history := ""
		if len(e.Histories) > 0 {
			history = e.Histories[0]
		}
		return g.tx.Views().DigestOf(ctx, history, e.Content)
	}
	return g.tx.Views().Saying(ctx, memory.Scope{Type: e.Type, Target: e.Target}, e.Content)
}

// UndoArgs name a run, and those that did a part of its work.
type UndoArgs struct {
	Run  int64   `json:"run"`
	With []int64 `json:"with,omitempty"`
}

// Undo takes back all that runs did to long-term memory, as one: entries, the sessions
// that they refer to, targets without entries, the identity. The sessions
// themselves were said, and stay. What has been changed since is left alone and
// told as failed. It is for people.
func (l *Service) Undo(ctx context.Context, a agent.Actor, in UndoArgs) ([]ItemResult, error) {
	if err := memorywrite.RequirePerson(a, "undoing a run"); err != nil {
		return nil, err
	}
	return l.change(ctx, a, "undo_run", in, nil, func(g *writing) error {
		runs := append([]int64{in.Run}, in.With...)
		touched, err := g.tx.Memories().WrittenBy(ctx, runs)
		if err != nil {
			return err
		}
		if err := g.undoEntries(ctx, touched); err != nil {
			return err
		}
		for _, run := range runs {
			if err := g.tx.References().DropReferencesOf(ctx, run); err != nil {
				return err
			}
			if err := g.undoTargets(ctx, run); err != nil {
				return err
			}
		}
		if err := g.undoIdentity(ctx, runs); err != nil {
			return err
		}
		if len(g.items) == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("run %d has nothing in long-term memory to undo", in.Run), "")
		}
		return nil
	})
}

// undoEntries takes all of them out of each other's way before any gets its old
// text: what the run made of one may be what another said.
func (g *writing) undoEntries(ctx context.Context, touched []WrittenEntry) error {
	var keys []int64
	for _, t := range touched {
		if !t.MovedOn && t.Entry.Version == t.Last {
			keys = append(keys, t.Entry.Key)
		}
	}
	if err := g.tx.Memories().Park(ctx, keys); err != nil {
		return err
	}
	for i, t := range touched {
		switch {
		case t.MovedOn:
			err := fault.New(fault.VersionConflict, fmt.Sprintf("memory %s has been changed since", t.Entry.ID),
				"look at its history and restore the version that is wanted")
			if err := g.done(i, ItemResult{}, err); err != nil {
				return err
			}
		case t.Entry.Version != t.Last: // undone before
			if err := g.done(i, ItemResult{ID: t.Entry.ID, Status: memorywrite.Unchanged}, nil); err != nil {
				return err
			}
		default:
			if err := g.done(i, ItemResult{ID: t.Entry.ID, Status: Undone}, g.undoEntry(ctx, t)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *writing) undoEntry(ctx context.Context, t WrittenEntry) error {
	at := max(t.First-1, 1)
	r, err := g.tx.Memories().RevisionAt(ctx, t.Entry.Key, at)
	if err != nil {
		return err
	}
	if t.First == 1 { // the run made it
		r.Status = memory.Removed
	}
	e := t.Entry
	err = g.back(ctx, e, r, memory.Undo)
	if err == nil || !mine(err) {
		return err
	}
	r.Status = memory.Removed // parked it is: say so in its history and in the index
	if out := g.back(ctx, e, r, memory.Undo); out != nil {
		return out
	}
	return err
}

func (g *writing) undoTargets(ctx context.Context, run int64) error {
	targets, err := g.tx.Targets().TargetsBy(ctx, run)
	if err != nil {
		return err
	}
	for _, t := range targets {
		gone, err := g.tx.Targets().DropTarget(ctx, t.Row)
		if err != nil {
			return err
		}
		if gone {
			if err := g.done(len(g.items), ItemResult{Status: Undone, Message: "target " + t.Scope().Name()},
				nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// identityLimit is how many versions of an identity an undo looks at.
const identityLimit = 1000

func (g *writing) undoIdentity(ctx context.Context, runs []int64) error {
	versions, err := g.tx.Identities().IdentityHistory(ctx, identityLimit)
	theirs := func(v memory.IdentityVersion) bool { return slices.Contains(runs, v.Run) }
	if err != nil || !slices.ContainsFunc(versions, theirs) {
		return err
	}
	if !theirs(versions[0]) {
		if versions[0].Action == "undo" {
			return nil
		}
		return g.done(len(g.items), ItemResult{},
			fault.New(fault.VersionConflict, "the identity has been changed since",
				"look at its history and roll back to the version that is wanted"))
	}
	old := memory.IdentityVersion{}
	for _, v := range versions {
		if !theirs(v) {
			old = v
			break
		}
	}
	_, err = g.setIdentity(ctx, old.Content, "undo", nil)
	return g.done(len(g.items), ItemResult{Status: Undone, Message: "identity"}, err)
}
