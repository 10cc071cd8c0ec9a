package evolve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/fault"
	"cairn/internal/run"
)

// CloseTraining promotes the best bank with its policy, as one version, and ends
// the run. Code is set when the workflow gave up: what was best so far is kept for
// a run that goes on, and nothing is promoted.
func (s *Service) CloseTraining(ctx context.Context, ref run.Ref, code, reason string) (out TrainedTo, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(tx Tx) error {
		r, spec, err := s.trainSpec(ctx, tx, ref)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			return json.Unmarshal(r.Result, &out)
		}
		out = TrainedTo{Outcome: run.Completed, Bank: spec.Bank, Rewards: []float64{}}
		raw, err := tx.TrainedUnder(ctx, ref.Run, "stage/")
		if err != nil {
			return err
		}
		var last Staged
		for _, step := range slices.Sorted(maps.Keys(raw)) {
			var one Iterated
			if err := json.Unmarshal(raw[step], &one); err == nil && one.Policy != "" && len(step) > len(stageStep(0)) {
				out.Rewards = append(out.Rewards, one.Reward)
				out.Iterations++
				continue
			}
			last = Staged{}
			if err := json.Unmarshal(raw[step], &last); err != nil {
				return err
			}
			out.Stages++
		}
		switch {
		case code == string(fault.Cancelled):
			out.Outcome, out.Note = run.CancelledOutcome, reason
		case code != "" || out.Stages == 0:
			out.Outcome, out.Note = run.Failed, reason
		default:
			if err := s.promoteTrained(ctx, tx, ref, spec, last, &out); err != nil {
				return err
			}
		}
		if err := s.free(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return tx.EndRun(ctx, ref.Run, out.Outcome, out.Note, out)
	})
	return out, err
}

func (s *Service) promoteTrained(ctx context.Context, tx Tx, ref run.Ref, spec TrainSpec, last Staged, out *TrainedTo) error {
	best := last.Progress.Stages[last.Progress.Best]
	out.Best, out.Policy = best.Score, best.Snapshot.Policy
	var kept Candidate
	for _, k := range last.Kept {
		if k.Snapshot == best.Snapshot.Hash {
			kept = k.Bank
		}
	}
	bank, err := kept.Bank()
	if err != nil {
		return err
	}
	policy, optimiser, err := weights(ctx, tx, best.Snapshot.Policy, best.Snapshot.Optimiser)
	if err != nil {
		return err
	}
	if err := best.Snapshot.Verify(bank, policy, optimiser); err != nil {
		return err
	}
	head, err := s.advance(ctx, tx, BankRow{ID: spec.BankID, Name: spec.Bank, Head: spec.Base}, Draft{Base: spec.Base, Action: Trained, Bank: bank, Policy: policy, Optimiser: optimiser, Fresh: kept.Fresh,
		Reason: fmt.Sprintf("best of %d stages: %.4f", out.Stages, best.Score), Run: ref.Run})
	if fault.CodeOf(err) == fault.VersionConflict { // somebody was at the bank all the same: it is theirs
		out.Outcome, out.Note = run.Failed, err.Error()
		return nil
	}
	out.Version = head.Head
	return err
}
