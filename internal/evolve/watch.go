package evolve

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"cairn/internal/run"
)

// Watched is how far a training is.
type Watched struct {
	Status  run.Status `json:"status"`
	Done    int        `json:"iterations"`
	Of      int        `json:"of"`
	Stages  int        `json:"stages"`
	Rewards []float64  `json:"rewards"`
	Result  *TrainedTo `json:"result,omitempty"` // once it has ended
}

// Watch tells how far a training is.
func (s *Service) Watch(ctx context.Context, ref run.Ref) (out Watched, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(tx Tx) error {
		r, spec, err := s.trainSpec(ctx, tx, ref)
		if err != nil {
			return err
		}
		out = Watched{Status: r.Status, Of: spec.Stages * spec.Iterations, Rewards: []float64{}}
		if r.Status == run.Ended {
			out.Result = new(TrainedTo)
			return json.Unmarshal(r.Result, out.Result)
		}
		raw, err := tx.TrainedUnder(ctx, ref.Run, "stage/")
		if err != nil {
			return err
		}
		for _, step := range slices.Sorted(maps.Keys(raw)) {
			if len(step) == len(stageStep(0)) {
				out.Stages++
				continue
			}
			var one Iterated
			if err := json.Unmarshal(raw[step], &one); err != nil {
				return err
			}
			out.Rewards, out.Done = append(out.Rewards, one.Reward), out.Done+1
		}
		return nil
	})
	return out, err
}

// RoundNow tells how far a round of evolution is; its outcome is empty until it
// has ended.
func (s *Service) RoundNow(ctx context.Context, ref run.Ref) (out Round, ended bool, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(tx Tx) error {
		r, err := tx.Run(ctx, ref.Run)
		if err == nil && r.Status == run.Ended {
			ended, err = true, json.Unmarshal(r.Result, &out)
		}
		return err
	})
	return out, ended, err
}
