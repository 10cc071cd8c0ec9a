package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// EndTask ends a task that was not committed, with the code and reason of what stopped it. Without
// a code, the task must have ended already. Calls of an attempt before the latest retry have no
// effect.
func (s *Service) EndTask(ctx context.Context, ref run.Ref, attempt int, key, code,
	reason string) (t distillation.Task, err error) {
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().RunState(ctx, ref.Run)
		if err != nil {
			return err
		}
		if t, err = tx.Tasks().Task(ctx, ref.Run, key); err != nil || t.Stage == distillation.EndedTask ||
			r.Attempt != attempt {
			return err
		}
		if code == "" {
			return fmt.Errorf("end task %s: stage is %s", key, t.Stage)
		}
		t.Outcome, t.Reason = distillation.Failed, code+": "+reason
		return tx.Tasks().EndTask(ctx, t)
	})
	return t, err
}

// AwaitTask returns when a task has ended. If it has not ended after a short wait, it fails with
// Unavailable.
func (s *Service) AwaitTask(ctx context.Context, ref run.Ref, key string) error {
	const looks, pause = 20, 250 * time.Millisecond
	for range looks {
		var t distillation.Task
		err := s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
			t, err = tx.Tasks().Task(ctx, ref.Run, key)
			return err
		})
		if err != nil || t.Stage == distillation.EndedTask {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return fault.New(fault.Unavailable, fmt.Sprintf("task %s has not ended yet", key), "")
}

// Close ends a run with the code of what stopped it or, without a code, with the summary of its
// tasks. It does not change a run that has ended, nor one whose next attempt has started. A step,
// such as the last commit, may end the run before its workflow calls Close.
func (s *Service) Close(ctx context.Context, ref run.Ref, attempt int, code, reason string) (out distillation.Result,
	err error) {
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().RunState(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Status == run.Ended || r.Attempt != attempt {
			out.Outcome = r.Outcome
			return json.Unmarshal(r.Result, &out)
		}
		tasks, err := tx.Tasks().Tasks(ctx, ref.Run)
		if err != nil {
			return err
		}
		outcomes := make([]distillation.Outcome, len(tasks))
		for i, t := range tasks {
			outcomes[i] = t.Outcome
		}
		out = distillation.AddUp(outcomes)
		if code != "" {
			out.Code, out.Outcome = code, run.Failed
			if code == string(fault.Cancelled) {
				out.Outcome = run.CancelledOutcome
			}
		}
		return tx.Runs().EndRun(ctx, ref.Run, out.Outcome, reason, out)
	})
	return out, err
}

// outcomeOf returns the outcome of a run that an error ended before it had tasks.
func outcomeOf(f *fault.Error) run.Outcome {
	if f.Code == fault.QuotaExceeded {
		return run.OverBudget
	}
	return run.Failed
}
