package reflection

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/reflection"
	"cairn/internal/service/agentrun"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Minimum values for a note to be considered, and the score from which it becomes a memory.
const (
	minRecalls, minQueries, minDays = 3, 2, 2
	promotes                        = 0.7
	promotedEach                    = 1  // per run, because every memory is part of every prompt
	recallsShown                    = 50 // notes considered
)

// promote turns the note with the highest score into a memory if the score suffices. It only adds:
// a note never replaces an existing memory.
func (s Agent) promote(ctx context.Context, w agentrun.RunView, reason agent.Reason) (n int, err error) {
	if reason != agent.Final && reason != agent.Exhausted {
		return 0, nil
	}
	var found []reflection.Recall
	err = s.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
		found, err = tx.Reflections().RecalledNotes(ctx, minRecalls, minQueries, minDays, recallsShown)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("find notes that are recalled often: %w", err)
	}
	slices.SortStableFunc(found, func(a, b reflection.Recall) int { return cmp.Compare(b.Score(), a.Score()) })
	for _, r := range found {
		if r.Score() < promotes || n == promotedEach {
			break
		}
		a := agent.Actor{Workspace: w.Run.Workspace, Origin: agent.OriginReflection, Run: w.Run.Ref.Run,
			Op: w.Run.Op("promote/"+r.Note.ID, 0)}
		if e := r.Note.Evidence; e != nil {
			a.Conversation, a.FromSeq, a.ToSeq = e.Conversation, e.FromSeq, e.ToSeq
		}
		written, err := s.Keeper.Save(ctx, a,
			memories.SaveArgs{Content: r.Note.Content, Store: string(memory.Core)})
		if code := fault.CodeOf(err); err != nil && (fault.Table[code].Retryable || code == fault.Internal) {
			return n, fmt.Errorf("promote note %s to a memory: %w", r.Note.ID, err)
		}
		if err == nil && written.Action == memories.Added {
			n++
		}
	}
	return n, nil
}
