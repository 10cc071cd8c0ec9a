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

// Close compares the candidate with the bank, promotes it if it is better, and ends the run. Code
// is set if the workflow failed.
func (s *Evolution) Close(ctx context.Context, ref run.Ref, code, reason string) (out learning.Round, err error) {
	out, spec, head, err := s.read(ctx, ref, nil)
	if err != nil {
		return out, err
	}
	first := false
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		first = false
		of, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if of.Status == run.Ended {
			return json.Unmarshal(of.Result, &out)
		}
		first = true
		outcome := run.Completed
		switch {
		case code == string(fault.Cancelled):
			outcome, out.Outcome, out.Note = run.CancelledOutcome, Failed, reason
		case code != "":
			outcome, out.Outcome, out.Note = run.Failed, Failed, reason
		case out.Outcome == Failed:
			outcome = run.Failed
		case len(out.Cases) == 0:
			out.Outcome = NoCases
		case out.Candidate == nil:
			out.Outcome = NoChange
		default:
			if err := s.decide(ctx, tx, ref, spec, head, &out); err != nil {
				return err
			}
		}
		if err := tx.Rounds().SaveRound(ctx, out); err != nil {
			return err
		}
		if err := s.ports.Banks.FreeLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, ref.Run, outcome, out.Note, out)
	})
	if err == nil && first {
		bank.Report(s.ports.Log, bank.Evolution, out.Outcomes, "run", ref.Run, "round", out.Number)
	}
	return out, err
}

// decide applies the gate: the candidate replaces the bank only if it is better on held-out
// conversations, which the designer has not seen.
func (s *Evolution) decide(ctx context.Context, tx store.Tx, ref run.Ref, spec EvolutionSpec, head bank.Head,
	r *learning.Round) error {
	judged, err := JudgeTrial(ctx, tx, ref, len(spec.Held))
	if err != nil {
		return err
	}
	r.Outcomes, r.Comparison, r.Outcome, r.Note = judged.Outcomes, judged.Result, judged.Outcome, judged.Note
	if judged.Outcome != learning.Promoted {
		return nil
	}
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil {
		return err
	}
	if spec.Due && chosen.Memory.Learning.Frozen { // may have changed since the round began
		r.Outcome, r.Note = learning.Rejected, "memory.learning.frozen is true: automatic promotion is off"
		return nil
	}
	if spec.Due { // started by a schedule: one voter must not steer it
		voters, err := tx.Votes().Voters(ctx)
		if err != nil {
			return err
		}
		if voters < bank.MinVoters {
			r.Outcome, r.Note = Waiting, fmt.Sprintf("waits for `cairn inbox`: %d of %d voters", voters,
				bank.MinVoters)
			return nil
		}
	}
	_, err = s.advance(ctx, tx, head, *r)
	switch {
	case fault.CodeOf(err) == fault.VersionConflict:
		r.Outcome, r.Note = Overtaken, err.Error()
		return nil
	case bank.IsFrozen(err): // since the round began
		r.Outcome, r.Note = learning.Rejected, err.Error()
		return nil
	}
	return err
}

// advance makes the candidate of a round the active version of its bank.
func (s *Evolution) advance(ctx context.Context, tx store.Tx, head bank.Head, r learning.Round) (bank.Head, error) {
	candidate, err := r.Candidate.Bank()
	if err != nil {
		return bank.Head{}, err
	}
	return s.ports.Banks.Advance(ctx, tx, head.BankRow, bank.Draft{Base: r.Base, Action: bank.ActionEvolve,
		Bank:   candidate,
		Policy: head.Policy, Optimizer: head.Optimizer, Fresh: r.Candidate.Fresh,
		Reason: fmt.Sprintf("%s: %+.4f on %d held-out traces", learning.DescribeCandidate(r.Candidate),
			r.Comparison.Mean,
			r.Comparison.Traces),
		Run: r.Run})
}
