package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// Result is what a run's row keeps of how it ended.
type Result struct {
	Outcome run.Outcome          `json:"-"`
	Gate    *transcript.Decision `json:"gate,omitempty"`
	Code    string               `json:"code,omitempty"` // of what ended the run early
	Tasks   int                  `json:"tasks"`
	Created int                  `json:"created"`
	Updated int                  `json:"updated"`
	Failed  int                  `json:"failed"`
}

// EndTask ends a task that no commit ended, with the code and reason of what
// stopped it; without a code the task must have ended by itself. An attempt that
// a retry has followed has no say any more.
func (s *Service) EndTask(ctx context.Context, ref run.Ref, attempt int, key, code, reason string) (t Task, err error) {
	err = s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, err := tx.Runs().RunState(ctx, ref.Run)
		if err != nil {
			return err
		}
		if t, err = tx.Tasks().Task(ctx, ref.Run, key); err != nil || t.Stage == EndedTask || r.Attempt != attempt {
			return err
		}
		if code == "" {
			return fmt.Errorf("end task %s: it is only %s", key, t.Stage)
		}
		t.Outcome, t.Reason = Failed, code+": "+reason
		return tx.Tasks().EndTask(ctx, t)
	})
	return t, err
}

// AwaitTask returns when a task has ended, and fails as Unavailable after a
// moment in which it has not.
func (s *Service) AwaitTask(ctx context.Context, ref run.Ref, key string) error {
	const looks, pause = 20, 250 * time.Millisecond
	for range looks {
		var t Task
		err := s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) (err error) {
			t, err = tx.Tasks().Task(ctx, ref.Run, key)
			return err
		})
		if err != nil || t.Stage == EndedTask {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return fault.New(fault.Unavailable, fmt.Sprintf("task %s is still under way", key), "")
}

// Close ends a run: with the code of what stopped it, or else with what its
// tasks add up to. A run that has ended stays as it is, and so does one whose
// next attempt has begun: its steps, such as the commit of its last task, may end
// it before the workflow that ran them comes to close it.
func (s *Service) Close(ctx context.Context, ref run.Ref, attempt int, code, reason string) (out Result, err error) {
	err = s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
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
		outcomes := make([]Outcome, len(tasks))
		for i, t := range tasks {
			outcomes[i] = t.Outcome
		}
		out = AddUp(outcomes)
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

// AddUp counts tasks by their outcomes, "" of one that has not ended, and tells
// what their run comes to.
func AddUp(outcomes []Outcome) Result {
	r := Result{Tasks: len(outcomes)}
	for _, outcome := range outcomes {
		switch outcome {
		case Created:
			r.Created++
		case Updated, Unchanged, Staged:
			r.Updated++
		case Failed, "":
			r.Failed++
		}
	}
	switch {
	case r.Failed > 0 && r.Failed == r.Tasks:
		r.Outcome = run.Failed
	case r.Failed > 0:
		r.Outcome = run.CompletedPartial
	case r.Created+r.Updated == 0:
		r.Outcome = run.NothingToExtract
	default:
		r.Outcome = run.Completed
	}
	return r
}

// outcomeOf is the outcome of a run that trouble ended before it had tasks.
func outcomeOf(f *fault.Error) run.Outcome {
	if f.Code == fault.QuotaExceeded {
		return run.OverBudget
	}
	return run.Failed
}
