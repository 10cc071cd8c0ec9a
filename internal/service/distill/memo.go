package distill

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// memoFresh is the time for which a permanent failure is remembered.
const memoFresh = 24 * time.Hour

// memoKey hashes the input of a task's extraction: messages, instructions and model. The name of
// the conversation is not part of it.
func memoKey(j job, t distillation.Task, stage prompt.Stage) ([sha256.Size]byte, error) {
	ms := j.messages(t.Seqs)
	texts := make([]transcript.Message, len(ms))
	for i, m := range ms {
		texts[i] = transcript.Message{Role: m.Role, Content: m.Content, Name: m.Name, ToolCalls: m.ToolCalls}
	}
	raw, err := json.Marshal([]any{texts, j.spec.Instructions[instructionKey(stage, t.Lang)], j.spec.Models["extract"],
		j.spec.Mode})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encode the memo of task %s: %w", t.Key, err)
	}
	return sha256.Sum256(raw), nil
}

// remembered looks up a cached failure. A fresh run ignores them.
func remembered(ctx context.Context, tx store.Tx, j job, key [sha256.Size]byte) (m distillation.CachedFailure,
	found bool,
	err error) {
	if j.run.Generation > 1 {
		return m, false, nil
	}
	return tx.Tasks().Memo(ctx, key, memoFresh)
}

// reasonOf returns the reason with which a run or a task ends. It says what to do about the endpoint's settings.
func reasonOf(f *fault.Error) string {
	if (f.Code == fault.ModelAuth || f.Code == fault.ModelRejected) && f.Hint != "" {
		return f.Error() + "; " + f.Hint
	}
	return f.Error()
}

// failTask ends a task that no model could complete. It caches failures of the model, so that the
// same input is not sent again soon.
func (s *Service) failTask(ctx context.Context, t distillation.Task, key [sha256.Size]byte, f *fault.Error) error {
	t.Outcome, t.Reason = distillation.Failed, reasonOf(f)
	return s.Store.InWorkspaceByKeys(ctx, t.Ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if f.Code == fault.ModelInvalid || f.Code == fault.ModelRefused {
			if err := tx.Tasks().PutMemo(ctx, key, distillation.CachedFailure{Code: f.Code,
				Reason: f.Error()}); err != nil {
				return err
			}
		}
		return tx.Tasks().EndTask(ctx, t)
	})
}
