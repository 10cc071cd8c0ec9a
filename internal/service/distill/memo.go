package distill

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// memoFresh is the time for which a permanent failure is remembered.
const memoFresh = 24 * time.Hour

// CachedFailure is the reason why an identical request failed.
type CachedFailure struct {
	Code   fault.Code
	Reason string
	Left   time.Duration // until it is forgotten
}

// refusal says why a task of a run is not attempted, and how to attempt it now.
func (f CachedFailure) refusal(ref run.Ref) string {
	return fmt.Sprintf(
		"not repeated for another %s: the same messages failed before (%s: %s); to repeat them now, run "+
			"`cairn runs retry %s --fresh`",
		remaining(f.Left),
		f.Code,
		f.Reason,
		ref.Run,
	)
}

// remaining formats a duration in hours and minutes, rounded up.
func remaining(d time.Duration) string {
	minutes := max(1, int((d+time.Minute-1)/time.Minute))
	if minutes < 60 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// memoKey hashes the input of a task's extraction: messages, instructions and model. The name of
// the conversation is not part of it.
func memoKey(j job, t Task, stage prompt.Stage) ([sha256.Size]byte, error) {
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
func remembered(ctx context.Context, tx Tx, j job, key [sha256.Size]byte) (m CachedFailure, found bool, err error) {
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
func (s *Service) failTask(ctx context.Context, t Task, key [sha256.Size]byte, f *fault.Error) error {
	t.Outcome, t.Reason = Failed, reasonOf(f)
	return s.Store.Within(ctx, t.Ref.Workspace, func(ctx context.Context, tx Tx) error {
		if f.Code == fault.ModelInvalid || f.Code == fault.ModelRefused {
			if err := tx.Tasks().PutMemo(ctx, key, CachedFailure{Code: f.Code, Reason: f.Error()}); err != nil {
				return err
			}
		}
		return tx.Tasks().EndTask(ctx, t)
	})
}
