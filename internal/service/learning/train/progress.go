package train

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// Progress is the progress of a training.
type Progress struct {
	Status  run.Status `json:"status"`
	Done    int        `json:"iterations"`
	Of      int        `json:"of"`
	Stages  int        `json:"stages"`
	Rewards []float64  `json:"rewards"`
	// Choice describes how decisive the choices of the last iteration were. Outcomes are the totals
	// so far. Tried and Trials count the held-out conversations at the end.
	Choice   policy.Diagnostics       `json:"choice,omitzero"`
	Outcomes learning.EpisodeOutcomes `json:"outcomes,omitzero"`
	Tried    int                      `json:"tried"`
	Trials   int                      `json:"trials"`
	Result   *learning.TrainingResult `json:"result,omitempty"` // set after it has ended
}

// Progress returns the progress of a training.
func (s *Training) Progress(ctx context.Context, ref run.Ref) (out Progress, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, spec, err := readSpec(ctx, tx, ref)
		if err != nil {
			return err
		}
		out = Progress{Status: r.Status, Of: spec.Stages * spec.Iterations, Rewards: []float64{},
			Trials: len(spec.Held)}
		if r.Status == run.Ended {
			out.Result = new(learning.TrainingResult)
			return json.Unmarshal(r.Result, out.Result)
		}
		raw, err := tx.Training().StepResults(ctx, ref.Run, "stage/")
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
			out.Choice, out.Outcomes = one.Choice, out.Outcomes.Plus(one.Outcomes)
		}
		tried, err := tx.Training().StepResults(ctx, ref.Run, "trial/")
		out.Tried = len(tried)
		return err
	})
	return out, err
}
