package evaluation

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Rest returns the usage that belongs to no row and no training: that of the selection of the best fixed
// set, and of units that were not completed.
func (r Result) Rest() learning.EvaluationUsage {
	out := r.Usage
	less := func(u learning.EvaluationUsage) {
		out = out.Plus(learning.EvaluationUsage{Calls: -u.Calls, Input: -u.Input, Output: -u.Output,
			CostMicros: -u.CostMicros, Unpriced: -u.Unpriced})
	}
	for _, row := range r.Rows {
		less(row.Build.Plus(row.Usage))
	}
	for _, l := range r.Learned {
		less(l.Usage)
	}
	return out
}

func sumCalls(calls []learning.EvaluationCall) (out learning.EvaluationUsage) {
	for _, c := range calls {
		out = out.Plus(c.EvaluationUsage)
	}
	return out
}

// spent returns the usage of an evaluation so far, with that of its builds.
func (s *Service) spent(ctx context.Context, e evaluation) (out learning.EvaluationUsage, err error) {
	ref, open := e.run.Ref, map[int64]bool{}
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if out, err = tx.Evaluations().Spent(ctx); err != nil { // trainings, answers and verdicts
			return err
		}
		started, err := steps[startedUnit](ctx, tx, ref.Run, "unit/")
		if err != nil {
			return err
		}
		done, err := steps[doneUnit](ctx, tx, ref.Run, "done/")
		if err != nil {
			return err
		}
		for step, one := range started {
			place, _, _ := strings.Cut(strings.TrimPrefix(step, "unit/"), "/")
			ended, found := done["done/"+place]
			switch {
			case one.Workspace == ref.Workspace || open[one.Workspace]: // a training, or another attempt
			case found:
				out = out.Plus(ended.Usage)
				delete(done, "done/"+place)
			default:
				open[one.Workspace] = true
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	for ws := range open {
		err := s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
			u, err := tx.Evaluations().Spent(ctx)
			out = out.Plus(u)
			return err
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// checkBudget returns QuotaExceeded if the limit of cost is reached, or if a training is expected to
// exceed it. Trainings, unlike builds and questions, cannot stop in the middle.
func (s *Service) checkBudget(ctx context.Context, e evaluation, u unit) error {
	most := e.limits.MaxCost
	if most == 0 {
		return nil
	}
	now, err := s.spent(ctx, e)
	if err != nil {
		return err
	}
	needs := int64(0)
	if est := e.spec.Estimate; u.Kind == trainUnit && est.Calls > 0 {
		trainings := 0
		for _, one := range e.units {
			if one.Kind == trainUnit {
				trainings++
			}
		}
		needs = est.CostMicros * int64(est.Training) / int64(est.Calls) / int64(max(1, trainings))
	}
	if now.CostMicros+needs < most {
		return nil
	}
	more := ""
	if needs > 0 {
		more = fmt.Sprintf(", and the training of %s is expected to cost %s", u.Row, settings.Dollars(needs))
	}
	return fault.New(fault.QuotaExceeded, fmt.Sprintf("the evaluation has spent %s of its limit of %s%s",
		settings.Dollars(now.CostMicros), settings.Dollars(most), more),
		"run the same command with a higher --max-cost; the stored replies are used again")
}

// Progress is the progress of an evaluation.
type Progress struct {
	Status   run.Status               `json:"status"`
	Attempt  int                      `json:"attempt"`
	Units    int                      `json:"units"`
	UnitsOf  int                      `json:"units_of"`
	Usage    learning.EvaluationUsage `json:"usage"`
	Estimate Estimate                 `json:"estimate"`
	Result   *Result                  `json:"result,omitempty"` // set after it has ended
}

// Progress returns the progress of an evaluation.
func (s *Service) Progress(ctx context.Context, ref run.Ref) (out Progress, err error) {
	var e evaluation
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, _, over, err := bank.ReadSpec[Spec, Result](ctx, tx, ref)
		out.Status, out.Attempt, out.Result = r.Status, r.Attempt, over
		if err != nil || over != nil {
			return err
		}
		if e, err = readEvaluation(ctx, tx, ref); err != nil {
			return err
		}
		out.UnitsOf, out.Estimate = len(e.units), e.spec.Estimate
		done, err := tx.Training().StepResults(ctx, ref.Run, "ended/")
		out.Units = len(done)
		return err
	})
	if err != nil || out.Result != nil {
		return out, err
	}
	out.Usage, err = s.spent(ctx, e)
	return out, err
}
