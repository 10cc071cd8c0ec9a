package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/store"
)

// doneUnit is the result of a unit's build.
type doneUnit struct {
	startedUnit
	Usage    learning.EvaluationUsage `json:"usage"`
	Seconds  float64                  `json:"seconds"`
	Spans    int                      `json:"spans"`
	Failed   int                      `json:"failed_spans,omitempty"`
	Memories int                      `json:"memories"` // that were inserted
}

// Learned is the result of a training.
type Learned struct {
	Row        string                   `json:"row"`
	Run        string                   `json:"run"`
	Rewards    []float64                `json:"rewards"` // per iteration
	Best       float64                  `json:"best_reward"`
	Stages     int                      `json:"stages"`
	Iterations int                      `json:"iterations"`
	Skills     int                      `json:"skills"`
	Changes    []memoryskill.Difference `json:"changes,omitempty"` // from the seed bank
	Policy     string                   `json:"policy"`
	Bank       string                   `json:"bank"` // in the workspace of the evaluation
	Usage      learning.EvaluationUsage `json:"usage"`
	Masked     int                      `json:"masked_outcomes,omitempty"`
	Outcomes   int                      `json:"outcomes"`
	Note       string                   `json:"note,omitempty"`
}

// AwaitUnit stores the result of a unit's run when that has ended. Before, it returns Unavailable.
func (s *Service) AwaitUnit(ctx context.Context, in contract.UnitInput) error {
	e, err := s.read(ctx, in.Ref())
	if err != nil {
		return err
	}
	n := in.Unit
	if n < 0 || n >= len(e.units) {
		return fault.Newf(fault.InvalidArgument, "run %s has no unit %d", in.Run, n)
	}
	var started startedUnit
	done := false
	err = s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		if done, err = bank.IsDone(ctx, tx, in.Run, doneStep(n)); err != nil || done {
			return err
		}
		started, err = bank.NeedStep[startedUnit](ctx, tx, in.Run, attemptStep(n, e.run.Attempt))
		return err
	})
	if err != nil || done {
		return err
	}
	var result any
	if e.units[n].Kind == trainUnit {
		result, err = s.endTraining(ctx, e, e.units[n], started)
	} else {
		result, err = s.endBuild(ctx, started)
	}
	if err != nil {
		return err
	}
	return s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		if e.units[n].Kind == trainUnit {
			if err := bank.SaveStep(ctx, tx, in.Run, endedStep(n), 0, true); err != nil {
				return err
			}
		}
		return bank.SaveStep(ctx, tx, in.Run, doneStep(n), 0, result)
	})
}

// endedRun reads a run with its usage. If the run has not ended, endedRun returns Unavailable.
func (s *Service) endedRun(ctx context.Context, started startedUnit) (r run.Run, u learning.EvaluationUsage,
	err error) {
	err = s.ports.Store.InWorkspace(ctx, started.Workspace, func(ctx context.Context, tx store.Tx) error {
		if r, err = tx.Runs().Run(ctx, started.Run); err != nil {
			return err
		}
		if r.Status != run.Ended {
			return fault.Newf(fault.Unavailable, "run %s has not ended", started.Run)
		}
		calls, err := tx.Evaluations().Calls(ctx, started.Run)
		u = sumCalls(calls)
		return err
	})
	return r, u, err
}

// endBuild returns the result of a build. A build without any span makes the row incomparable, and
// fails the evaluation.
func (s *Service) endBuild(ctx context.Context, started startedUnit) (out doneUnit, err error) {
	r, usage, err := s.endedRun(ctx, started)
	if err != nil {
		return out, err
	}
	if r.Outcome == run.Failed || r.Outcome == run.CancelledOutcome {
		return out, fault.New(fault.ModelRejected, fmt.Sprintf("build %s of workspace %s failed: %s", started.Run,
			started.Name, r.Reason), fmt.Sprintf("see the errors of the model endpoint: cairn -w %s runs show %s",
			started.Name, started.Run))
	}
	var result build.Result
	if err := json.Unmarshal(r.Result, &result); err != nil {
		return out, fmt.Errorf("decode the result of run %s: %w", started.Run, err)
	}
	out = doneUnit{startedUnit: started, Usage: usage, Spans: result.Spans, Failed: result.Failed,
		Memories: len(result.Added)}
	if r.StartedAt != nil && r.EndedAt != nil {
		out.Seconds = r.EndedAt.Sub(*r.StartedAt).Seconds()
	}
	return out, nil
}

// endTraining stores the best bank and policy of a training under a name of its own. Whether the gate of
// live banks would promote it does not matter: the table compares it.
func (s *Service) endTraining(ctx context.Context, e evaluation, u unit, started startedUnit) (out Learned, err error) {
	r, usage, err := s.endedRun(ctx, started)
	if err != nil {
		return out, err
	}
	if r.Outcome == run.Failed || r.Outcome == run.CancelledOutcome {
		return out, fault.New(fault.ModelRejected, fmt.Sprintf("training %s failed: %s", started.Run, r.Reason),
			"see its model calls with `cairn runs show RUN`, then run the same command again")
	}
	var result learning.TrainingResult
	if err := json.Unmarshal(r.Result, &result); err != nil {
		return out, fmt.Errorf("decode the result of run %s: %w", started.Run, err)
	}
	best, err := s.ports.Trainings.Best(ctx, run.Ref{Workspace: started.Workspace, Run: started.Run})
	if err != nil {
		return out, err
	}
	best.Action, best.Reason = bank.ActionTrain, fmt.Sprintf("best of training %s", started.Run)
	head, err := s.ports.Banks.Install(ctx, e.run.Ref.Workspace, trained(u.Row), best)
	if err != nil {
		return out, err
	}
	seed, err := seedBank()
	if err != nil {
		return out, err
	}
	return Learned{Row: u.Row, Run: started.Run, Rewards: result.Rewards, Best: result.Best, Stages: result.Stages,
		Iterations: result.Iterations, Skills: head.Bank.Len(), Changes: memoryskill.Differences(seed, head.Bank),
		Policy: head.Version.Policy, Bank: head.Name, Usage: usage, Masked: result.Outcomes.Masked,
		Outcomes: result.Outcomes.Of, Note: result.Note}, nil
}

// bestSet returns the fixed set with the best mean score on the conversations for selection.
func (s *Service) bestSet(ctx context.Context, e evaluation) (best int, err error) {
	err = s.ports.Store.InWorkspace(ctx, e.run.Ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		best, err = selectedSet(ctx, tx, e)
		return err
	})
	if err == nil && best < 0 {
		err = fmt.Errorf("the fixed sets of run %s were not all tried", e.run.Ref.Run)
	}
	return best, err
}

// selectedSet is bestSet, and −1 before all sets were tried.
func selectedSet(ctx context.Context, tx store.Tx, e evaluation) (int, error) {
	sets := e.spec.sets()
	if len(sets) == 1 {
		return 0, nil
	}
	sums := make([]float64, len(sets))
	for n, u := range e.units {
		if u.Kind != selectUnit {
			continue
		}
		answers, err := readAnswers(ctx, tx, e.run.Ref.Run, n)
		if err != nil || len(answers) == 0 {
			return -1, err
		}
		for _, a := range answers {
			sums[u.Set] += a.Recall / float64(len(answers))
		}
	}
	return slices.Index(sums, slices.Max(sums)), nil
}
