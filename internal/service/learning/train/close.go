package train

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Close ends a training. It promotes the best bank with its policy as one version, if it passes the
// gate on held-out conversations. Code is set if the workflow failed. Then
// nothing is promoted, and the best stage is kept for a run that continues.
func (s *Training) Close(ctx context.Context, ref run.Ref, code, reason string) (out learning.TrainingResult,
	err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, spec, err := readSpec(ctx, tx, ref)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			return json.Unmarshal(r.Result, &out)
		}
		var last StageResult
		if out, last, err = readResults(ctx, tx, ref, spec); err != nil {
			return err
		}
		switch {
		case code == string(fault.Cancelled):
			out.Outcome, out.Note = run.CancelledOutcome, reason
		case code != "" || out.Stages == 0:
			out.Outcome, out.Note = run.Failed, reason
		default:
			if err := s.promote(ctx, tx, ref, spec, last, &out); err != nil {
				return err
			}
		}
		if err := s.ports.Banks.FreeLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, ref.Run, out.Outcome, out.Note, out)
	})
	return out, err
}

// best returns the bank of the best stage with its policy and optimizer.
func (s *Training) best(ctx context.Context, tx store.Tx, last StageResult) (d bank.Draft, score float64, err error) {
	best := last.Progress.Stages[last.Progress.Best]
	var kept learning.BankCandidate
	for _, k := range last.Kept {
		if k.Snapshot == best.Snapshot.Hash {
			kept = k.Bank
		}
	}
	d = bank.Draft{Action: bank.ActionTrain, Fresh: kept.Fresh}
	if d.Bank, err = kept.Bank(); err != nil {
		return d, best.Score, err
	}
	if d.Policy, d.Optimizer, err = s.ports.Banks.ReadWeights(ctx, tx, best.Snapshot.Policy,
		best.Snapshot.Optimizer); err != nil {
		return d, best.Score, err
	}
	return d, best.Score, best.Snapshot.Verify(d.Bank, d.Policy, d.Optimizer)
}

// promote promotes the best stage if it passes the gate.
func (s *Training) promote(ctx context.Context, tx store.Tx, ref run.Ref, spec Spec, last StageResult,
	out *learning.TrainingResult) error {
	d, score, err := s.best(ctx, tx, last)
	if err != nil {
		return err
	}
	out.Best, out.Policy = score, d.Policy.Hash()
	d.Base, d.Run, d.Reason = spec.Base, ref.Run, fmt.Sprintf("best of %d stages: %.4f", out.Stages, score)
	judged, err := JudgeTrial(ctx, tx, ref, len(spec.Held))
	if err != nil {
		return err
	}
	c := judged.Result
	if out.Verdict, out.Gate, out.Note = judged.Outcome, c, judged.Note; judged.Outcome != learning.Promoted {
		return nil
	}
	d.Reason += fmt.Sprintf(", %+.4f on %d held-out traces (lower bound %+.4f)", c.Mean, c.Traces, c.Lower)
	head, err := s.ports.Banks.Advance(ctx, tx, learning.BankRow{ID: spec.BankID, Name: spec.Bank, Head: spec.Base}, d)
	switch {
	case fault.CodeOf(err) == fault.VersionConflict: // another writer has changed the bank
		out.Outcome, out.Verdict, out.Note = run.Failed, Overtaken, err.Error()
		return nil
	case bank.IsFrozen(err): // since the training began
		out.Verdict, out.Note = learning.Rejected, err.Error()
		return nil
	}
	out.Version = head.Head
	return err
}
