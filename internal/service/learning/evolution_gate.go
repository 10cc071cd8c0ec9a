package learning

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
)

// TrialResult is a held-out trace with both sides.
type TrialResult struct {
	Conversation int64    `json:"conversation"`
	Incumbent    float64  `json:"incumbent"`
	Candidate    float64  `json:"candidate"`
	Known        bool     `json:"known"`
	Outcomes     Outcomes `json:"outcomes,omitzero"` // of both
}

func trialStep(n int) string { return fmt.Sprintf("trial/%04d", n) }

// Trials counts the held-out conversations of a round.
func (s *Service) Trials(ctx context.Context, ref run.Ref) (int, error) {
	_, spec, _, err := s.round(ctx, ref, nil)
	return len(spec.Held), err
}

// Trial plays a held-out trace twice: with the bank in force and with the
// candidate, by the same policy, greedily.
func (s *Service) Trial(ctx context.Context, ref run.Ref, n int) error {
	var t Trace
	done := false
	r, spec, head, err := s.round(ctx, ref, func(tx Tx, spec EvolveSpec, h Head) (err error) {
		if done, err = tx.Training().Trained(ctx, ref.Run, trialStep(n), new(TrialResult)); err != nil || done {
			return err
		}
		_, questions, err := s.traces(ctx, tx, h.ID)
		if err != nil {
			return err
		}
		if t, err = s.trace(ctx, tx, spec.Held[n], questions[spec.Held[n]], spec.Keeping.Spanning); err != nil {
			return err
		}
		return tx.Decisions().ShownTo(ctx, ref.Run, t.Conversation)
	})
	if err != nil || done || r.Candidate == nil {
		return err
	}
	candidate, err := r.Candidate.Bank()
	if err != nil {
		return err
	}
	out, err := s.tried(ctx, playing{ref: ref, step: trialStep(n), model: spec.Model, keeping: spec.Keeping, score: spec.Score}, t, side{head.Bank, head.Policy}, side{candidate, head.Policy})
	if err != nil {
		return err
	}
	return s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		return tx.Training().PutTrained(ctx, ref.Run, trialStep(n), t.Conversation, out)
	})
}

// side is what a trace is played with.
type side struct {
	bank   memoryskill.Bank
	policy policy.Policy
}

// tried plays a trace with both sides, greedily.
func (s *Service) tried(ctx context.Context, how playing, t Trace, incumbent, candidate side) (out TrialResult, err error) {
	out.Conversation = t.Conversation
	both := [2]EpisodeResult{}
	for i, with := range []side{incumbent, candidate} {
		one := how
		one.step = fmt.Sprintf("%s/%d", how.step, i)
		one.choose = func(span int) policy.Choice {
			return policy.Choice{K: how.keeping.K, Greedy: true, Key: keyedrand.Key{Span: span}}
		}
		p, err := s.player(ctx, one, with.bank, with.policy, nil)
		if err != nil {
			return out, err
		}
		if both[i], err = p.play(ctx, t); err != nil {
			return out, err
		}
		out.Outcomes = out.Outcomes.plus(both[i].outcomes())
	}
	out.Incumbent, out.Candidate, out.Known = paired(both[0].Asked, both[1].Asked)
	return out, nil
}

// paired are the mean scores of two episodes on one trace, over the questions that
// both have scored: what an outage took from one is not held against the other.
func paired(a, b []Asked) (ofA, ofB float64, known bool) {
	n := 0.0
	for i := range min(len(a), len(b)) {
		if a[i].Scored && b[i].Scored {
			ofA, ofB, n = ofA+a[i].Score, ofB+b[i].Score, n+1
		}
	}
	return ofA / max(1, n), ofB / max(1, n), n > 0
}

// CloseRound compares, promotes what is better, and ends the run. Code is set when
// the workflow gave up.
func (s *Service) CloseRound(ctx context.Context, ref run.Ref, code, reason string) (out Round, err error) {
	out, spec, head, err := s.round(ctx, ref, nil)
	if err != nil {
		return out, err
	}
	first := false
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
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
			outcome, out.Outcome, out.Note = run.CancelledOutcome, RoundError, reason
		case code != "":
			outcome, out.Outcome, out.Note = run.Failed, RoundError, reason
		case out.Outcome == RoundError:
			outcome = run.Failed
		case len(out.Mined) == 0:
			out.Outcome = NoCases
		case out.Candidate == nil:
			out.Outcome = NoChange
		default:
			if err := s.decideRound(ctx, tx, ref, spec, head, &out); err != nil {
				return err
			}
		}
		if err := tx.Rounds().SaveRound(ctx, out); err != nil {
			return err
		}
		if err := s.free(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, ref.Run, outcome, out.Note, out)
	})
	if err == nil && first {
		s.report(ofEvolution, out.Outcomes, "run", ref.Run, "round", out.Number)
	}
	return out, err
}

// decideRound is the gate: the candidate replaces the bank only when it is better
// on conversations that nobody looked at when it was made.
func (s *Service) decideRound(ctx context.Context, tx Tx, ref run.Ref, spec EvolveSpec, head Head, r *Round) error {
	c, outcomes, why, err := gated(ctx, tx, ref, len(spec.Held))
	if err != nil {
		return err
	}
	if r.Outcomes = outcomes; c == nil {
		r.Outcome, r.Note = NoTraces, why
		return nil
	}
	r.Comparison, r.Outcome = c, Rejected
	if !c.Promote {
		return nil
	}
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil {
		return err
	}
	if spec.Due && chosen.Memory.Learning.Frozen { // since it has begun
		r.Outcome, r.Note = Rejected, "memory.learning.frozen is true: nothing comes into force by itself"
		return nil
	}
	bank, err := r.Candidate.Bank()
	if err != nil {
		return err
	}
	_, err = s.advance(ctx, tx, head.BankRow, Draft{Base: spec.Base, Action: Evolved, Bank: bank, Policy: head.Policy, Optimiser: head.Optimiser, Fresh: r.Candidate.Fresh,
		Reason: fmt.Sprintf("%s: %+.4f on %d held-out traces", edits(r.Candidate), c.Mean, c.Traces), Run: ref.Run})
	if fault.CodeOf(err) == fault.VersionConflict {
		r.Outcome, r.Note = Overtaken, err.Error()
		return nil
	}
	if err == nil {
		r.Outcome = Promoted
	}
	return err
}
