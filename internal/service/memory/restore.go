package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// PromptRestoreArgs selects a version of an entry to restore.
type PromptRestoreArgs struct {
	ID      string `json:"memory_id"`
	Version int    `json:"version,omitempty"` // 0 for the current version
}

// promptMostVersions is the maximum number of versions that a restoration compares.
const promptMostVersions = 1000

// promptErasedAtOnce is the maximum number of rows that one transaction erases.
const promptErasedAtOnce = 1000

// Restore makes a version of an entry active again, whatever the status of the entry, which keeps its ID. Others make
// room for it in its store. Restore requires a user.
func (k *PromptService) Restore(ctx context.Context, a agent.Actor, in PromptRestoreArgs) (WriteResult, error) {
	if err := RequirePerson(a, "restoring a memory"); err != nil {
		return WriteResult{}, err
	}
	return doOnce(ctx, k, a, "memory_restore", in, func(ctx context.Context, tx store.Tx) (WriteResult, error) {
		// Entries whose undo period has passed cannot be restored.
		if _, err := tx.DeletedSkills().EraseDeleted(ctx, promptErasedAtOnce); err != nil {
			return WriteResult{}, err
		}
		e, err := tx.PromptMemory().Memory(ctx, in.ID)
		if err == nil && !slices.Contains(memory.PromptTypes, e.Type) {
			err = fault.New(fault.NotFound, fmt.Sprintf("memory %q not found", in.ID), "")
		}
		if err != nil {
			return WriteResult{}, err
		}
		version := in.Version
		if version == 0 {
			version = e.Version
		}
		r, err := tx.LongTerm().RevisionAt(ctx, e.Key, version)
		if err != nil {
			return WriteResult{}, err
		}
		history, err := tx.PromptMemory().MemoryHistory(ctx, e.ID, promptMostVersions)
		if err != nil {
			return WriteResult{}, err
		}
		if memory.Withheld(e, history, r.Version) && !a.Approves {
			return WriteResult{}, memory.NeedsApproval(e.ID)
		}
		return k.restore(ctx, tx, a, e, r)
	})
}

// restore writes the content of a revision as the version after e.
func (k *PromptService) restore(ctx context.Context, tx store.Tx, a agent.Actor, e memory.Entry,
	r memory.Revision) (WriteResult,
	error) {
	risk, err := memory.Inspect("the content", r.Content) // the rules may have changed
	if err != nil {
		return WriteResult{}, err
	}
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil {
		return WriteResult{}, err
	}
	most := budget(chosen, e.Type)
	entries, err := tx.PromptMemory().InPrompt(ctx, []memory.Type{e.Type}, maxEntries)
	if err != nil {
		return WriteResult{}, err
	}
	same, err := tx.LongTerm().Sayings(ctx, []memory.Statement{{Scope: memory.Scope{Type: e.Type}, Content: r.Content}})
	if err != nil {
		return WriteResult{}, err
	}
	for _, other := range same {
		if other.Moved {
			entries = append(entries, other)
		}
	}
	plan, err := memory.MakeRestore(e, r.Content, entries, most)
	if err != nil {
		return WriteResult{}, err
	}
	out := WriteResult{Action: Restored, Store: e.Type, IDs: []string{e.ID},
		Usage: memory.Usage(plan.After, most), Warnings: risk}
	if len(plan.Steps) == 0 {
		out.Action, out.Warnings = Unchanged, nil
		return out, nil
	}
	if out.Moved, err = k.execute(ctx, tx, plan, k.writer(a)); err != nil {
		return WriteResult{}, err
	}
	if e.Status == memory.Active { // its text was replaced
		if _, err := tx.Sessions().RevokeSessions(ctx); err != nil {
			return WriteResult{}, err
		}
	}
	return out, tx.Operations().Record(ctx, audit.MemoryRestore,
		fmt.Sprintf("memory %s to version %d", e.ID, r.Version))
}
