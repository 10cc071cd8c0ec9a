package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// maxPending is the maximum number of pending writes in a workspace. The limit stops an agent that
// writes faster than people review.
const maxPending = 200

// Final states of a pending write.
const (
	approved = "approved"
	rejected = "rejected"
	conflict = "conflict" // an entry has changed since
)

func stage(ctx context.Context, tx store.Tx, r request, plan memory.Plan, w memory.Writer, reason string) (int64,
	error) {
	n, err := tx.PendingMemories().CountPendingMemories(ctx)
	if err != nil {
		return 0, err
	}
	if n >= maxPending {
		return 0, fault.New(fault.QuotaExceeded, fmt.Sprintf("%d writes already need approval", n),
			"ask the user to approve or reject pending writes first")
	}
	return tx.PendingMemories().PutPendingMemory(ctx,
		memory.Pending{Store: r.store, Operations: plan.Resolved, Base: plan.Base(), Adds: plan.Count(memory.Add),
			Gist: plan.Gist(r.store), Risk: r.risk, Reason: reason}, w)
}

// Waiting returns a pending write.
func (k *PromptService) Waiting(ctx context.Context, a agent.Actor, id int64) (memory.Pending, error) {
	return k.pending(ctx, a.Workspace, id)
}

// PendingList lists the pending writes, oldest first.
func (k *PromptService) PendingList(ctx context.Context, a agent.Actor, max int) (out []memory.Pending, err error) {
	err = k.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.PendingMemories().PendingMemories(ctx, max)
		return err
	})
	return out, err
}

// DecisionResult is the result of a decision about a pending write.
type DecisionResult struct {
	Pending int64       `json:"pending_id"`
	State   string      `json:"state"` // approved, rejected, conflict
	Written WriteResult `json:"written,omitzero"`
}

// Approve applies a pending write under the origin of its author. If an entry has changed since,
// the write becomes a conflict. Approve then returns VersionConflict, also when it is called again. A
// blocking finding needs an override.
func (k *PromptService) Approve(ctx context.Context, a agent.Actor, id int64, d approval.Decision) (DecisionResult,
	error) {
	if err := RequirePerson(a, "approving"); err != nil {
		return DecisionResult{}, err
	}
	var vectors memory.Embedded
	if waiting, err := k.pending(ctx, a.Workspace, id); err == nil { // a retry finds it decided
		vectors = k.embed(ctx, a.Workspace, contents(waiting.Operations))
	}
	out, err := doOnce(ctx, k, a, "memory_approve", id, func(ctx context.Context, tx store.Tx) (DecisionResult, error) {
		return k.approve(ctx, tx, a, id, nil, d, vectors)
	})
	return out, conflicted(id, out, err)
}

func conflicted(id int64, out DecisionResult, err error) error {
	if err == nil && out.State == conflict {
		return fault.New(fault.VersionConflict,
			fmt.Sprintf("entries of pending write %d have changed; it was dropped", id),
			"write the change again, based on the current entries")
	}
	return err
}

// ApproveEdited is Approve with texts of a person in place of the proposed ones, one for each operation; those of
// removals do not count. The origin is the user, and the texts are scanned again.
func (k *PromptService) ApproveEdited(ctx context.Context, a agent.Actor, id int64, texts []string,
	d approval.Decision) (DecisionResult, error) {
	if err := RequirePerson(a, "approving"); err != nil {
		return DecisionResult{}, err
	}
	var vectors memory.Embedded
	if waiting, err := k.pending(ctx, a.Workspace, id); err == nil { // a retry finds it decided
		edited, err := waiting.Edited(texts)
		if err != nil {
			return DecisionResult{}, err
		}
		vectors = k.embed(ctx, a.Workspace, contents(edited.Operations))
	}
	args := struct {
		ID    int64    `json:"id"`
		Texts []string `json:"texts"`
	}{id, texts}
	out, err := doOnce(ctx, k, a, "memory_edit", args, func(ctx context.Context, tx store.Tx) (DecisionResult, error) {
		return k.approve(ctx, tx, a, id, texts, d, vectors)
	})
	return out, conflicted(id, out, err)
}

// approve applies a pending write, or what a person made of it.
func (k *PromptService) approve(ctx context.Context, tx store.Tx, a agent.Actor, id int64, texts []string,
	d approval.Decision,
	vectors memory.Embedded) (DecisionResult, error) {
	p, err := tx.PendingMemories().PendingMemory(ctx, id)
	if err != nil {
		return DecisionResult{}, err
	}
	sha, note := p.SHA(), d.Note()
	if texts != nil {
		if p, err = p.Edited(texts); err != nil {
			return DecisionResult{}, err
		}
		note = ", edited" + note
	}
	if err := d.Check(sha, p.Findings()); err != nil {
		return DecisionResult{}, err
	}
	if outdated, err := isOutdated(ctx, tx, p); err != nil {
		return DecisionResult{}, err
	} else if outdated {
		return DecisionResult{Pending: id, State: conflict}, tx.PendingMemories().DecideMemory(ctx, id, conflict)
	}
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil {
		return DecisionResult{}, err
	}
	plan, err := k.plan(ctx, tx, request{store: p.Store, operations: p.Operations},
		memory.Room{Budget: budget(chosen, p.Store), Person: true})
	if err != nil {
		return DecisionResult{}, err
	}
	w := k.writer(a).With(vectors) // the review clears the taint
	w.Origin, w.Run, w.Evidence = p.Origin, p.Run, p.Evidence
	moved, err := k.execute(ctx, tx, plan, w)
	if err != nil {
		return DecisionResult{}, err
	}
	if err := withdraw(ctx, tx, plan); err != nil {
		return DecisionResult{}, err
	}
	out := DecisionResult{Pending: id, State: approved,
		Written: WriteResult{Action: Applied, Store: p.Store, Moved: moved,
			Usage: memory.Usage(plan.After, budget(chosen, p.Store))}}
	if len(plan.Steps) == 0 {
		out.Written.Action = Unchanged
	}
	for _, e := range plan.Meant {
		if e.ID != "" {
			out.Written.IDs = append(out.Written.IDs, e.ID)
		}
	}
	if err := tx.Operations().Record(ctx, audit.MemoryApprove,
		fmt.Sprintf("pending memory %d%s", id, note)); err != nil {
		return DecisionResult{}, err
	}
	return out, tx.PendingMemories().DecideMemory(ctx, id, approved)
}

// isOutdated reports whether an entry that the write is based on has changed or is not active any more.
func isOutdated(ctx context.Context, tx store.Tx, p memory.Pending) (bool, error) {
	for entry, version := range p.Base {
		e, err := tx.PromptMemory().Memory(ctx, entry)
		if err != nil || e.Status != memory.Active {
			return err == nil, err
		}
		if changed, err := changedSince(ctx, tx, e, version); err != nil || changed {
			return changed, err
		}
	}
	return false, nil
}

// changedSince reports whether the content of an entry may have changed since a version. A move changes none.
func changedSince(ctx context.Context, tx store.Tx, e memory.Entry, version int) (bool, error) {
	if e.Version <= version {
		return e.Version < version, nil
	}
	later, err := tx.PromptMemory().MemoryHistory(ctx, e.ID, e.Version-version)
	return slices.ContainsFunc(later, func(r memory.Revision) bool {
		return r.Action != memory.Move && r.Action != memory.Return
	}), err
}

// Reject discards a pending write.
func (k *PromptService) Reject(ctx context.Context, a agent.Actor, id int64) (DecisionResult, error) {
	if err := RequirePerson(a, "rejecting"); err != nil {
		return DecisionResult{}, err
	}
	return doOnce(ctx, k, a, "memory_reject", id, func(ctx context.Context, tx store.Tx) (DecisionResult, error) {
		if _, err := tx.PendingMemories().PendingMemory(ctx, id); err != nil {
			return DecisionResult{}, err
		}
		if err := tx.Operations().Record(ctx, audit.MemoryReject, fmt.Sprintf("pending memory %d", id)); err != nil {
			return DecisionResult{}, err
		}
		return DecisionResult{Pending: id, State: rejected}, tx.PendingMemories().DecideMemory(ctx, id, rejected)
	})
}

func (k *PromptService) pending(ctx context.Context, ws, id int64) (p memory.Pending, err error) {
	err = k.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		p, err = tx.PendingMemories().PendingMemory(ctx, id)
		return err
	})
	return p, err
}
