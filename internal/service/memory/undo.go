package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
)

// RestoreArgs selects a version of a memory to restore.
type RestoreArgs struct {
	ID      string `json:"memory_id"`
	Version int    `json:"version,omitempty"` // 0 for the current version
}

// erasedAtOnce is the maximum number of rows that one transaction erases.
const erasedAtOnce = 1000

// maxVersions is the maximum number of versions that a restoration compares.
const maxVersions = 1000

// Restore makes a version of a memory active again, whatever the status of the memory. It requires
// a user.
func (l *LongTermService) Restore(ctx context.Context, a agent.Actor, in RestoreArgs) ([]ItemResult, error) {
	if err := RequirePerson(a, "restoring a memory"); err != nil {
		return nil, err
	}
	return l.change(ctx, a, "restore_memory", in, memory.Embedded{}, func(g *writing) error {
		// Memories whose undo period has passed cannot be restored.
		if _, err := g.tx.DeletedSkills().EraseDeleted(ctx, erasedAtOnce); err != nil {
			return err
		}
		found, err := g.tx.LongTerm().LongTerm(ctx, []string{in.ID})
		if err != nil {
			return err
		}
		if len(found) == 0 || !slices.Contains(memory.LongTermTypes, found[0].Type) {
			return fault.New(fault.NotFound, fmt.Sprintf("memory %q not found", in.ID),
				"deleted memories can be restored for limits.undo_days days only")
		}
		e := found[0]
		version := in.Version
		if version == 0 {
			version = e.Version
		}
		r, err := g.tx.LongTerm().RevisionAt(ctx, e.Key, version)
		if err != nil {
			return err
		}
		history, err := g.tx.PromptMemory().MemoryHistory(ctx, e.ID, maxVersions)
		if err != nil {
			return err
		}
		if memory.Withheld(e, history, r.Version) && !a.Approves {
			return memory.NeedsApproval(e.ID)
		}
		r.Status = memory.Active
		if err := g.tx.Operations().Record(ctx, audit.MemoryRestore, fmt.Sprintf("memory %s to version %d",
			e.ID, version)); err != nil {
			return err
		}
		return g.addResult(0, ItemResult{ID: e.ID, Status: Restored}, g.revertTo(ctx, e, r, memory.Restore))
	})
}

// revertTo writes the content of a revision as the version after e.
func (g *writing) revertTo(ctx context.Context, e memory.Entry, r memory.Revision, action memory.Action) error {
	e.Content, e.WhenToUse, e.Metadata, e.Targets, e.Status, e.SupersededBy = r.Content, r.WhenToUse, r.Metadata,
		r.Targets, r.Status, ""
	e.Moved = r.Moved
	e.Tainted = r.Tainted && !g.w.Person
	if e.Status == memory.Active {
		other, found, err := g.conflicting(ctx, e)
		if err != nil {
			return err
		}
		if found && other.Key != e.Key {
			return fault.New(fault.VersionConflict, fmt.Sprintf("memory %s has the same content", other.ID),
				"delete that memory first")
		}
	}
	g.w.Author = r.Author
	e.Author = r.Author
	if err := g.tx.LongTerm().Revise(ctx, &e, action, g.w); err != nil {
		return err
	}
	g.markDirty(e)
	return nil
}

// conflicting finds the active entry that cannot coexist with e.
func (g *writing) conflicting(ctx context.Context, e memory.Entry) (memory.Entry, bool, error) {
	switch e.Type {
	case memory.Guideline:
		return g.tx.LongTerm().GuidelineOf(ctx, e.WhenToUse)
	case memory.Summary:
		history := ""
		if len(e.Histories) > 0 {
			history = e.Histories[0]
		}
		return g.tx.LongTerm().DigestOf(ctx, history, e.Content)
	}
	return g.tx.LongTerm().Saying(ctx, memory.Scope{Type: e.Type, Target: e.Target}, e.Content)
}

// UndoArgs names a run and the sub-agent runs of the same request.
type UndoArgs struct {
	Run  string   `json:"run"`
	With []string `json:"with,omitempty"`
}

// Undo reverts all changes that runs made to memories: entries, their links to sessions, new targets without entries,
// and the identity. Prompt memories that moved to long-term memory return. Notes and sessions are kept. Items that were
// changed since are skipped and reported as failed. It requires a user.
func (l *LongTermService) Undo(ctx context.Context, a agent.Actor, in UndoArgs) ([]ItemResult, error) {
	if err := RequirePerson(a, "undoing a run"); err != nil {
		return nil, err
	}
	return l.change(ctx, a, "undo_run", in, memory.Embedded{}, func(g *writing) error {
		runs := append([]string{in.Run}, in.With...)
		touched, err := g.tx.LongTerm().WrittenBy(ctx, runs)
		if err != nil {
			return err
		}
		if err := g.undoEntries(ctx, touched); err != nil {
			return err
		}
		if slices.ContainsFunc(touched, func(t memory.WrittenEntry) bool {
			return slices.Contains(memory.PromptTypes, t.Entry.Type)
		}) {
			if _, err := g.tx.Sessions().RevokeSessions(ctx); err != nil {
				return err
			}
		}
		for _, run := range runs {
			if err := g.tx.LongTerm().DropReferencesOf(ctx, run); err != nil {
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
			return fault.New(fault.NotFound, fmt.Sprintf("run %s has no changes to undo", in.Run), "")
		}
		if !slices.ContainsFunc(g.items, func(r ItemResult) bool { return r.Status == Undone }) {
			return nil
		}
		return g.tx.Operations().Record(ctx, audit.MemoryUndo, fmt.Sprintf("run %s", in.Run))
	})
}

// undoEntries parks all entries before it reverts any, because the new text of one entry may be the
// old text of another.
func (g *writing) undoEntries(ctx context.Context, touched []memory.WrittenEntry) error {
	var keys []int64
	for _, t := range touched {
		if !t.MovedOn && t.Entry.Version == t.Last {
			keys = append(keys, t.Entry.Key)
		}
	}
	if err := g.tx.LongTerm().Park(ctx, keys); err != nil {
		return err
	}
	for i, t := range touched {
		switch {
		case t.MovedOn:
			err := fault.New(fault.VersionConflict, fmt.Sprintf("memory %s was changed after the run", t.Entry.ID),
				"read its history and restore a version")
			if err := g.addResult(i, ItemResult{}, err); err != nil {
				return err
			}
		case t.Entry.Version != t.Last: // already undone
			if err := g.addResult(i, ItemResult{ID: t.Entry.ID, Status: Unchanged}, nil); err != nil {
				return err
			}
		default:
			if err := g.addResult(i, ItemResult{ID: t.Entry.ID, Status: Undone}, g.undoEntry(ctx, t)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *writing) undoEntry(ctx context.Context, t memory.WrittenEntry) error {
	at := max(t.First-1, 1)
	r, err := g.tx.LongTerm().RevisionAt(ctx, t.Entry.Key, at)
	if err != nil {
		return err
	}
	switch {
	case t.First == 1: // the run created it
		r.Status = memory.Removed
	case t.Entry.Status == memory.Quarantined: // undoing a change is no approval
		r.Status = memory.Quarantined
	}
	e := t.Entry
	err = g.revertTo(ctx, e, r, memory.Undo)
	if err == nil || !isItemError(err) {
		return err
	}
	r.Status = memory.Removed // it is already parked: update its history and the index
	if out := g.revertTo(ctx, e, r, memory.Undo); out != nil {
		return out
	}
	return err
}

func (g *writing) undoTargets(ctx context.Context, run string) error {
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
			if err := g.addResult(len(g.items), ItemResult{Status: Undone, Message: "target " + t.Scope().Name()},
				nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// identityLimit is the number of identity versions that an undo reads.
const identityLimit = 1000

func (g *writing) undoIdentity(ctx context.Context, runs []string) error {
	versions, err := g.tx.Identity().IdentityHistory(ctx, identityLimit)
	theirs := func(v memory.IdentityVersion) bool { return slices.Contains(runs, v.Run) }
	if err != nil || !slices.ContainsFunc(versions, theirs) {
		return err
	}
	if !theirs(versions[0]) {
		if versions[0].Action == "undo" {
			return nil
		}
		return g.addResult(len(g.items), ItemResult{},
			fault.New(fault.VersionConflict, "identity was changed after the run",
				"read its history and roll back to a version"))
	}
	old := memory.IdentityVersion{}
	for _, v := range versions {
		if !theirs(v) {
			old = v
			break
		}
	}
	_, err = g.setIdentity(ctx, old.Content, "undo", nil)
	return g.addResult(len(g.items), ItemResult{Status: Undone, Message: "identity"}, err)
}
