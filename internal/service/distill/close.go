package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// EndTask ends a task that was not committed, with the code and reason of what stopped it. Without
// a code, the task must have ended already. Calls of an attempt before the latest retry have no
// effect.
func (s *Service) EndTask(ctx context.Context, in contract.EndTaskInput) (contract.TaskResult, error) {
	var t distillation.Task
	err := s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().RunState(ctx, in.Run)
		if err != nil {
			return err
		}
		if t, err = tx.Tasks().Task(ctx, in.Run, in.Task); err != nil || t.Stage == distillation.EndedTask ||
			r.Attempt != in.Attempt {
			return err
		}
		if in.Code == "" {
			return fmt.Errorf("end task %s: stage is %s", in.Task, t.Stage)
		}
		t.Outcome, t.Reason = distillation.Failed, in.Code+": "+in.Reason
		return tx.Tasks().EndTask(ctx, t)
	})
	return contract.TaskResult{Outcome: string(t.Outcome), Skill: t.Skill, Version: t.Version}, err
}

// AwaitTask returns when a task has ended. If it has not ended after a short wait, it fails with
// Unavailable.
func (s *Service) AwaitTask(ctx context.Context, in contract.TaskRef) error {
	const looks, pause = 20, 250 * time.Millisecond
	for range looks {
		var t distillation.Task
		err := s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
			t, err = tx.Tasks().Task(ctx, in.Run, in.Task)
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
	return fault.New(fault.Unavailable, fmt.Sprintf("task %s has not ended yet", in.Task), "")
}

// Close ends a run with the code of what stopped it or, without a code, with the summary of its
// tasks. It does not change a run that has ended, nor one whose next attempt has started. A step,
// such as the last commit, may end the run before its workflow calls Close.
func (s *Service) Close(ctx context.Context, in contract.CloseInput) (contract.DistillResult, error) {
	var out distillation.Result
	err := s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().RunState(ctx, in.Run)
		if err != nil {
			return err
		}
		if r.Status == run.Ended || r.Attempt != in.Attempt {
			out.Outcome = r.Outcome
			return json.Unmarshal(r.Result, &out)
		}
		tasks, err := tx.Tasks().Tasks(ctx, in.Run)
		if err != nil {
			return err
		}
		outcomes := make([]distillation.Outcome, len(tasks))
		for i, t := range tasks {
			outcomes[i] = t.Outcome
		}
		out = distillation.AddUp(outcomes)
		if in.Code != "" {
			out.Code, out.Outcome = in.Code, run.Failed
			if in.Code == string(fault.Cancelled) {
				out.Outcome = run.CancelledOutcome
			}
		}
		return tx.Runs().EndRun(ctx, in.Run, out.Outcome, in.Reason, out)
	})
	return contract.DistillResult{
		Outcome: string(out.Outcome), Tasks: out.Tasks, Created: out.Created, Updated: out.Updated, Failed: out.Failed,
	}, err
}

// outcomeOf returns the outcome of a run that an error ended before it had tasks.
func outcomeOf(f *fault.Error) run.Outcome {
	if f.Code == fault.QuotaExceeded {
		return run.OverBudget
	}
	return run.Failed
}
