package live

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/train"
	"cairn/internal/store"
)

// Close compares both policies, starts a canary if the new one is not worse, and ends the run. Code
// is set if the workflow failed.
func (s *Adaptation) Close(ctx context.Context, ref run.Ref, code, reason string) (out AdaptationResult, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		out = AdaptationResult{}
		_, spec, over, err := bank.ReadSpec[AdaptationSpec, AdaptationResult](ctx, tx, ref)
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
			outcome, out.Outcome, out.Note = run.CancelledOutcome, train.Failed, reason
		case code != "":
			outcome, out.Outcome, out.Note = run.Failed, train.Failed, reason
		default:
			if err := s.decide(ctx, tx, ref, &out); err != nil {
				return err
			}
		}
		if open {
			out.Update, u.Shadow, u.Note = u.Number, out.Shadow, out.Note
			if err := s.leaveShadow(ctx, tx, ref, spec.BankID, u, out.Outcome); err != nil {
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

// leaveShadow starts the canary of an update, or ends it. One that changed too much stays a shadow
// with its weights, from which the next update continues.
func (s *Adaptation) leaveShadow(ctx context.Context, tx store.Tx, ref run.Ref, bankID int64, u learning.Update,
	outcome string) error {
	from, err := bank.NeedStep[basis](ctx, tx, ref.Run, basisStep)
	if err != nil {
		return err
	}
	switch outcome {
	case learning.OnCanary:
		u.State = learning.OnCanary
		_, err = tx.Updates().MoveUpdate(ctx, bankID, InShadow, u)
	case ShadowOnly:
		_, err = tx.Updates().MoveUpdate(ctx, bankID, InShadow, u)
	default:
		u.State = Dropped
		_, err = s.drop(ctx, tx, bankID, InShadow, u)
	}
	if err != nil || from.Start == nil {
		return err
	}
	return from.Start.drop(ctx, tx)
}

// decide applies the gate to a policy.
func (s *Adaptation) decide(ctx context.Context, tx store.Tx, ref run.Ref, out *AdaptationResult) error {
	spec, from, _, err := s.read(ctx, tx, ref)
	if err != nil {
		return err
	}
	head, err := tx.Banks().BankOf(ctx, spec.BankID)
	if err != nil {
		return err
	}
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil {
		return err
	}
	out.Base = from.Base
	if chosen.Memory.Learning.Frozen {
		out.Outcome, out.Note = Frozen, "memory.learning.frozen is true"
		return nil
	}
	if err := head.CheckChangeable(); err != nil {
		out.Outcome, out.Note = Frozen, err.Error()
		return nil //nolint:nilerr // the note states it
	}
	made, found, err := bank.ReadStep[policyResult](ctx, tx, ref.Run, policyStep)
	if err != nil {
		return err
	}
	if out.Decisions = made.Decisions; !found || made.Decisions == 0 {
		out.Outcome = NothingNew
		return nil
	}
	out.Policy, out.Report = made.Policy, made.Report
	out.Shadow = learning.Shadow{Alike: made.Alike, OffPolicy: made.OffPolicy}
	if worse, err := s.isWorse(ctx, tx, ref, len(from.Held), out); err != nil || worse {
		return err
	}
	switch out.Outcome = learning.OnCanary; {
	case head.Head != from.Base:
		out.Outcome, out.Note = train.Overtaken, fmt.Sprintf("the bank has a newer version %d", head.Head)
	case made.OffPolicy == nil || made.OffPolicy.Effective < learning.MinEffective:
		out.Outcome, out.Note = train.NotEnough, made.OffPolicy.TooFew()
	case made.Alike < minAlike:
		out.Outcome, out.Note = ShadowOnly, fmt.Sprintf("chooses the same skills for %.0f %% of the decisions, "+
			"a canary needs %.0f %%", 100*made.Alike, 100*minAlike)
	}
	return nil
}

// isWorse reports whether the new policy may be worse on held-out conversations: its lower bound is below the
// margin of the gate, or endpoint failures leave too few scores to know.
func (s *Adaptation) isWorse(ctx context.Context, tx store.Tx, ref run.Ref, held int, out *AdaptationResult) (bool,
	error) {
	gate := designer.DefaultGate()
	var candidate, incumbent []float64
	var outcomes learning.EpisodeOutcomes
	for n := range held {
		one, found, err := bank.ReadStep[train.TrialResult](ctx, tx, ref.Run, shadowStep(n))
		if err != nil {
			return false, err
		}
		if !found { // erased with its conversation
			continue
		}
		if outcomes = outcomes.Plus(one.Outcomes); one.Known {
			candidate, incumbent = append(candidate, one.Candidate), append(incumbent, one.Incumbent)
		}
	}
	switch {
	case outcomes.Useless():
		out.Outcome, out.Note = train.NotEnough, fmt.Sprintf("%d of %d outcomes on held-out conversations are "+
			"masked, because the endpoint failed: fix it and try again", outcomes.Masked, outcomes.Of)
		return true, nil
	case len(candidate) == 0:
		return false, nil
	}
	c, err := gate.Compare(candidate, incumbent)
	if err != nil {
		return false, err
	}
	c.Promote = c.Lower > -gate.Margin // it need not be better here: live outcomes are the training data
	if out.Shadow.Comparison = &c; !c.Promote {
		out.Outcome, out.Note = learning.Rejected, fmt.Sprintf("%+.4f on %d held-out conversations, at least %+.4f",
			c.Mean, c.Traces, c.Lower)
	}
	return !c.Promote, nil
}
