package train

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// EvolutionProgress is the progress of a round.
type EvolutionProgress struct {
	Doing string          `json:"doing"` // current step
	Done  int             `json:"done"`
	Of    int             `json:"of"`
	Round *learning.Round `json:"round,omitempty"` // set after it has ended
}

// Progress returns the progress of a round.
func (s *Evolution) Progress(ctx context.Context, ref run.Ref) (out EvolutionProgress, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		of, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if of.Status == run.Ended {
			out.Round = new(learning.Round)
			return json.Unmarshal(of.Result, out.Round)
		}
		spec, err := bank.DecodeReply[EvolutionSpec](of)
		if err != nil {
			return err
		}
		out = EvolutionProgress{Doing: "choosing cases", Of: 2 + len(spec.Held)}
		if of.Status == run.Accepted {
			out.Doing = "waiting for a worker"
			return nil
		}
		r, err := tx.Rounds().RoundOf(ctx, ref.Run)
		if err != nil {
			return err
		}
		if len(r.Cases) > 0 {
			out.Done, out.Doing = 1, fmt.Sprintf("designing from %d cases", len(r.Cases))
		}
		if r.Candidate == nil {
			return nil
		}
		trials, err := tx.Training().StepResults(ctx, ref.Run, "trial/")
		if err != nil {
			return err
		}
		return out.add(trials, len(spec.Held))
	})
	return out, err
}

// add adds the progress of the trials.
func (p *EvolutionProgress) add(trials map[string]json.RawMessage, held int) error {
	p.Done, p.Doing = 2+len(trials), fmt.Sprintf("tried on %d of %d conversations", len(trials), held)
	var outcomes learning.EpisodeOutcomes
	for _, step := range trials {
		var one TrialResult
		if err := json.Unmarshal(step, &one); err != nil {
			return err
		}
		outcomes = outcomes.Plus(one.Outcomes)
	}
	if outcomes.Alarming() {
		p.Doing += fmt.Sprintf(", %d of %d outcomes masked", outcomes.Masked, outcomes.Of)
	}
	return nil
}
