package learning

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
)

// How an update ended, beside what a round has in common with it.
const (
	NothingNew = "nothing_new" // no outcome was left to learn from
	Frozen     = "frozen"      // the workspace wants nothing to change by itself
)

// Shadow compares a new policy with the one in force, without a live choice by it.
type Shadow struct {
	Alike      float64              `json:"alike"`                // share of the decisions for which both choose the same skills
	Comparison *designer.Comparison `json:"comparison,omitempty"` // on held-out conversations, where there are any
}

func shadowStep(n int) string { return fmt.Sprintf("shadow/%04d", n) }

// ShadowTrial plays a held-out conversation with the policy in force and with the
// new one, on the same bank, greedily.
func (s *Service) ShadowTrial(ctx context.Context, ref run.Ref, n int) error {
	var (
		t    Trace
		spec AdaptSpec
		head Head
		done bool
		next Head
	)
	err := s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) (err error) {
		if done, err = tx.Training().Trained(ctx, ref.Run, shadowStep(n), new(TrialResult)); err != nil || done {
			return err
		}
		var from taken
		if spec, from, head, err = s.adapting(ctx, tx, ref); err != nil {
			return err
		}
		var made learnt
		if found, err := tx.Training().Trained(ctx, ref.Run, policyStep, &made); err != nil || !found {
			return missing(err, policyStep)
		}
		if next.Policy, next.Optimiser, err = weights(ctx, tx, made.Policy, made.Optimiser); err != nil {
			return err
		}
		_, questions, err := s.traces(ctx, tx, spec.BankID)
		if err != nil {
			return err
		}
		if t, err = s.trace(ctx, tx, from.Held[n], questions[from.Held[n]], spec.Keeping.Spanning); err != nil {
			return err
		}
		return tx.Decisions().ShownTo(ctx, ref.Run, t.Conversation)
	})
	if err != nil || done {
		return err
	}
	out, err := s.tried(ctx, playing{ref: ref, step: shadowStep(n), model: spec.Model, keeping: spec.Keeping, score: spec.Score}, t, side{head.Bank, head.Policy}, side{head.Bank, next.Policy})
	if err != nil {
		return err
	}
	return s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		return tx.Training().PutTrained(ctx, ref.Run, shadowStep(n), t.Conversation, out)
	})
}

// CloseAdapt compares both policies, has the new one tried live when it is not
// worse, and ends the run. Code is set when the workflow gave up.
func (s *Service) CloseAdapt(ctx context.Context, ref run.Ref, code, reason string) (out Adapted, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		out = Adapted{}
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			return json.Unmarshal(r.Result, &out)
		}
		spec, err := specOf[AdaptSpec](r)
		if err != nil {
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
			outcome, out.Outcome, out.Note = run.CancelledOutcome, RoundError, reason
		case code != "":
			outcome, out.Outcome, out.Note = run.Failed, RoundError, reason
		default:
			if err := s.decideAdapt(ctx, tx, ref, &out); err != nil {
				return err
			}
		}
		if open {
			out.Update, u.Shadow, u.Note, u.State = u.Number, out.Shadow, out.Note, OnCanary
			if out.Outcome == OnCanary {
				_, err = tx.Updates().MoveUpdate(ctx, spec.BankID, InShadow, u)
			} else {
				u.State = Dropped
				err = s.settle(ctx, tx, spec.BankID, InShadow, u)
			}
			if err != nil {
				return err
			}
		}
		if err := s.free(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, ref.Run, outcome, out.Note, out)
	})
	return out, err
}

// decideAdapt is the gate of a policy.
func (s *Service) decideAdapt(ctx context.Context, tx Tx, ref run.Ref, out *Adapted) error {
	spec, from, _, err := s.adapting(ctx, tx, ref)
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
	var made learnt
	found, err := tx.Training().Trained(ctx, ref.Run, policyStep, &made)
	if err != nil {
		return err
	}
	if out.Decisions = made.Decisions; !found || made.Decisions == 0 {
		out.Outcome = NothingNew
		return nil
	}
	out.Policy, out.Report, out.Shadow.Alike = made.Policy, made.Report, made.Alike
	if worse, err := s.worse(ctx, tx, ref, len(from.Held), out); err != nil || worse {
		return err
	}
	out.Outcome = OnCanary
	if head.Head != from.Base {
		out.Outcome, out.Note = Overtaken, fmt.Sprintf("the bank has moved on to version %d", head.Head)
	}
	return nil
}

// worse tells whether the new policy may be worse on held-out conversations: its
// lower bound is below the margin of the gate.
func (s *Service) worse(ctx context.Context, tx Tx, ref run.Ref, held int, out *Adapted) (bool, error) {
	gate := designer.DefaultGate()
	var candidate, incumbent []float64
	for n := range held {
		var one TrialResult
		found, err := tx.Training().Trained(ctx, ref.Run, shadowStep(n), &one)
		if err != nil {
			return false, err
		}
		if found && one.Known { // one that is not found was erased with its conversation
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
	c.Promote = c.Lower > -gate.Margin // it need not be better here: live outcomes are what it was made for
	if out.Shadow.Comparison = &c; !c.Promote {
		out.Outcome, out.Note = Rejected, fmt.Sprintf("%+.4f on %d held-out conversations, at least %+.4f", c.Mean, c.Traces, c.Lower)
	}
	return !c.Promote, nil
}
