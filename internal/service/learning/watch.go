package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
)

// TrainingProgress is how far a training is.
type TrainingProgress struct {
	Status  run.Status `json:"status"`
	Done    int        `json:"iterations"`
	Of      int        `json:"of"`
	Stages  int        `json:"stages"`
	Rewards []float64  `json:"rewards"`
	// Choice is how decided the choices of the last iteration were, Outcomes what
	// came of all so far, Tried and Trials the held-out conversations at the end.
	Choice   policy.Diagnostics `json:"choice,omitzero"`
	Outcomes Outcomes           `json:"outcomes,omitzero"`
	Tried    int                `json:"tried"`
	Trials   int                `json:"trials"`
	Result   *TrainingResult    `json:"result,omitempty"` // once it has ended
}

// Watch tells how far a training is.
func (s *Service) Watch(ctx context.Context, ref run.Ref) (out TrainingProgress, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, spec, err := s.trainSpec(ctx, tx, ref)
		if err != nil {
			return err
		}
		out = TrainingProgress{Status: r.Status, Of: spec.Stages * spec.Iterations, Rewards: []float64{}, Trials: len(spec.Held)}
		if r.Status == run.Ended {
			out.Result = new(TrainingResult)
			return json.Unmarshal(r.Result, out.Result)
		}
		raw, err := tx.Training().TrainedUnder(ctx, ref.Run, "stage/")
		if err != nil {
			return err
		}
		for _, step := range slices.Sorted(maps.Keys(raw)) {
			if len(step) == len(stageStep(0)) {
				out.Stages++
				continue
			}
			var one IterationResult
			if err := json.Unmarshal(raw[step], &one); err != nil {
				return err
			}
			out.Rewards, out.Done = append(out.Rewards, one.Reward), out.Done+1
			out.Choice, out.Outcomes = one.Choice, out.Outcomes.plus(one.Outcomes)
		}
		tried, err := tx.Training().TrainedUnder(ctx, ref.Run, "trial/")
		out.Tried = len(tried)
		return err
	})
	return out, err
}

// RoundWatched is how far a round of evolution is.
type RoundWatched struct {
	Doing string `json:"doing"` // in words
	Done  int    `json:"done"`
	Of    int    `json:"of"`
	Round *Round `json:"round,omitempty"` // once it has ended
}

// WatchRound tells how far a round of evolution is.
func (s *Service) WatchRound(ctx context.Context, ref run.Ref) (out RoundWatched, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		of, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if of.Status == run.Ended {
			out.Round = new(Round)
			return json.Unmarshal(of.Result, out.Round)
		}
		spec, err := specOf[EvolveSpec](of)
		if err != nil {
			return err
		}
		out = RoundWatched{Doing: "choosing cases", Of: 2 + len(spec.Held)}
		if of.Status == run.Accepted {
			out.Doing = "waiting for a worker"
			return nil
		}
		r, err := tx.Rounds().RoundOf(ctx, ref.Run)
		if err != nil {
			return err
		}
		if len(r.Mined) > 0 {
			out.Done, out.Doing = 1, fmt.Sprintf("designing from %d cases", len(r.Mined))
		}
		if r.Candidate != nil {
			tried, err := tx.Training().TrainedUnder(ctx, ref.Run, "trial/")
			if err != nil {
				return err
			}
			out.Done, out.Doing = 2+len(tried), fmt.Sprintf("tried on %d of %d conversations", len(tried), len(spec.Held))
			var outcomes Outcomes
			for _, step := range tried {
				var one TrialResult
				if err := json.Unmarshal(step, &one); err != nil {
					return err
				}
				outcomes = outcomes.plus(one.Outcomes)
			}
			if outcomes.Alarming() {
				out.Doing += fmt.Sprintf(", %d of %d outcomes masked", outcomes.Masked, outcomes.Of)
			}
		}
		return nil
	})
	return out, err
}
