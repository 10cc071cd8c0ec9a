package adaptation

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/learning/trial"
)

// Close compares both policies, starts a canary if the new one is not worse, and ends the run. Code
// is set if the workflow failed.
func (s *Service) Close(ctx context.Context, ref run.Ref, code, reason string) (out Result, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		out = Result{}
		_, spec, over, err := runspec.Read[Spec, Result](ctx, tx, ref)
		if err != nil || over != nil {
			if over != nil {
				out = *over
			}
			return err
		}
		out.Bank = spec.Bank
		outcome := run.Completed
		u, open, err := tx.Updates().OpenUpdate(ctx, spec.BankID)
		if err != nil {
			return err
		}
		open = open && u.Run == ref.Run
		switch {
		case code == string(fault.Cancelled):
			outcome, out.Outcome, out.Note = run.CancelledOutcome, trial.Failed, reason
		case code != "":
			outcome, out.Outcome, out.Note = run.Failed, trial.Failed, reason
		default:
			if err := s.decide(ctx, tx, ref, &out); err != nil {
				return err
			}
		}
		if open {
			out.Update, u.Shadow, u.Note, u.State = u.Number, out.Shadow, out.Note, OnCanary
			if out.Outcome == OnCanary {
				_, err = tx.Updates().MoveUpdate(ctx, spec.BankID, InShadow, u)
			} else {
				u.State = Dropped
				err = s.drop(ctx, tx, spec.BankID, InShadow, u)
			}
			if err != nil {
				return err
			}
		}
		if err := s.ports.Banks.FreeLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, ref.Run, outcome, out.Note, out)
	})
	return out, err
}

// decide applies the gate to a policy.
func (s *Service) decide(ctx context.Context, tx Tx, ref run.Ref, out *Result) error {
	spec, from, _, err := s.read(ctx, tx, ref)
	if err != nil {
		return err
	}
	head, err := tx.Banks().BankOf(ctx, spec.BankID)
	if err != nil {
		return err
	}
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil {
		return err
	}
	out.Base = from.Base
	if chosen.Memory.Learning.Frozen {
		out.Outcome, out.Note = Frozen, "memory.learning.frozen is true"
		return nil
	}
	made, found, err := runspec.ReadStep[policyResult](ctx, tx, ref.Run, policyStep)
	if err != nil {
		return err
	}
	if out.Decisions = made.Decisions; !found || made.Decisions == 0 {
		out.Outcome = NothingNew
		return nil
	}
	out.Policy, out.Report, out.Shadow.Alike = made.Policy, made.Report, made.Alike
	if worse, err := s.isWorse(ctx, tx, ref, len(from.Held), out); err != nil || worse {
		return err
	}
	out.Outcome = OnCanary
	if head.Head != from.Base {
		out.Outcome, out.Note = trial.Overtaken, fmt.Sprintf("the bank has a newer version %d", head.Head)
	}
	return nil
}

// isWorse reports whether the new policy may be worse on held-out conversations: its
// lower bound is below the margin of the gate.
func (s *Service) isWorse(ctx context.Context, tx Tx, ref run.Ref, held int, out *Result) (bool, error) {
	gate := designer.DefaultGate()
	var candidate, incumbent []float64
	for n := range held {
		one, found, err := runspec.ReadStep[trial.Result](ctx, tx, ref.Run, shadowStep(n))
		if err != nil {
			return false, err
		}
		if found && one.Known { // a missing result was erased with its conversation
			candidate, incumbent = append(candidate, one.Candidate), append(incumbent, one.Incumbent)
		}
	}
	if len(candidate) == 0 {
		return false, nil
	}
	c, err := gate.Compare(candidate, incumbent)
	if err != nil {
		return false, err
	}
	c.Promote = c.Lower > -gate.Margin // it need not be better here: live outcomes are the training data
	if out.Shadow.Comparison = &c; !c.Promote {
		out.Outcome, out.Note = trial.Rejected, fmt.Sprintf("%+.4f on %d held-out conversations, at least %+.4f",
			c.Mean, c.Traces, c.Lower)
	}
	return !c.Promote, nil
}
