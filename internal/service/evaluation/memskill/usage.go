package memskill

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/learning/runspec"
)

// Usage is the usage of model calls with stored replies.
type Usage struct {
	Calls      int   `json:"calls"`
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CostMicros int64 `json:"cost_micros"`
	Unpriced   int   `json:"unpriced_calls,omitempty"` // calls without a known price, which CostMicros lacks
}

// Plus returns the sum of u and o.
func (u Usage) Plus(o Usage) Usage {
	return Usage{u.Calls + o.Calls, u.Input + o.Input, u.Output + o.Output, u.CostMicros + o.CostMicros,
		u.Unpriced + o.Unpriced}
}

// Rest returns the usage that belongs to no row and no training: that of the selection of the best fixed
// set, and of units that were not completed.
func (r Result) Rest() Usage {
	out := r.Usage
	less := func(u Usage) {
		out = out.Plus(Usage{-u.Calls, -u.Input, -u.Output, -u.CostMicros, -u.Unpriced})
	}
	for _, row := range r.Rows {
		less(row.Build.Plus(row.Usage))
	}
	for _, l := range r.Learned {
		less(l.Usage)
	}
	return out
}

func sumCalls(calls []Call) (out Usage) {
	for _, c := range calls {
		out = out.Plus(c.Usage)
	}
	return out
}

// spent returns the usage of an evaluation so far, with that of its builds.
func (s *Service) spent(ctx context.Context, e evaluation) (out Usage, err error) {
	ref, open := e.run.Ref, map[int64]bool{}
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
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
		err := s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
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
	Status   run.Status `json:"status"`
	Attempt  int        `json:"attempt"`
	Units    int        `json:"units"`
	UnitsOf  int        `json:"units_of"`
	Usage    Usage      `json:"usage"`
	Estimate Estimate   `json:"estimate"`
	Result   *Result    `json:"result,omitempty"` // set after it has ended
}

// Progress returns the progress of an evaluation.
func (s *Service) Progress(ctx context.Context, ref run.Ref) (out Progress, err error) {
	var e evaluation
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, _, over, err := runspec.Read[Spec, Result](ctx, tx, ref)
		out.Status, out.Attempt, out.Result = r.Status, r.Attempt, over
		if err != nil || over != nil {
			return err
		}
		if e, err = readEvaluation(ctx, tx, ref); err != nil {
			return err
		}
		out.UnitsOf, out.Estimate = len(e.units), e.spec.Estimate
		done, err := tx.Steps().StepResults(ctx, ref.Run, "ended/")
		out.Units = len(done)
		return err
	})
	if err != nil || out.Result != nil {
		return out, err
	}
	out.Usage, err = s.spent(ctx, e)
	return out, err
}
