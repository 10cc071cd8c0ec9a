package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
)

// CloseTraining promotes the best bank with its policy, as one version, when it is
// better on held-out conversations than what is in force, and ends the run. Code is
// set when the workflow gave up: what was best so far is kept for a run that goes
// on, and nothing is promoted.
func (s *Service) CloseTraining(ctx context.Context, ref run.Ref, code, reason string) (out TrainingResult, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, spec, err := s.trainSpec(ctx, tx, ref)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			return json.Unmarshal(r.Result, &out)
		}
		var last Staged
		if out, last, err = trainedSoFar(ctx, tx, ref, spec); err != nil {
			return err
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
		return tx.Runs().EndRun(ctx, ref.Run, out.Outcome, out.Note, out)
	})
	return out, err
}

// trainedSoFar adds up the steps of a training, and reads its last stage.
func trainedSoFar(ctx context.Context, tx Tx, ref run.Ref, spec TrainSpec) (out TrainingResult, last Staged, err error) {
	out = TrainingResult{Outcome: run.Completed, Bank: spec.Bank, Rewards: []float64{}}
	raw, err := tx.Training().TrainedUnder(ctx, ref.Run, "stage/")
	if err != nil {
		return out, last, err
	}
	for _, step := range slices.Sorted(maps.Keys(raw)) {
		var one IterationResult
		if err := json.Unmarshal(raw[step], &one); err == nil && one.Policy != "" && len(step) > len(stageStep(0)) {
			out.Rewards, out.Outcomes = append(out.Rewards, one.Reward), out.Outcomes.plus(one.Outcomes)
			out.Iterations++
			continue
		}
		last = Staged{}
		if err := json.Unmarshal(raw[step], &last); err != nil {
			return out, last, err
		}
		out.Stages++
	}
	return out, last, nil
}

// best is the bank of a training's best stage with its policy and optimiser.
func (s *Service) best(ctx context.Context, tx Tx, last Staged) (d Draft, score float64, err error) {
	best := last.Progress.Stages[last.Progress.Best]
	var kept Candidate
	for _, k := range last.Kept {
		if k.Snapshot == best.Snapshot.Hash {
			kept = k.Bank
		}
	}
	d = Draft{Action: Trained, Fresh: kept.Fresh}
	if d.Bank, err = kept.Bank(); err != nil {
		return d, best.Score, err
	}
	if d.Policy, d.Optimiser, err = weights(ctx, tx, best.Snapshot.Policy, best.Snapshot.Optimiser); err != nil {
		return d, best.Score, err
	}
	return d, best.Score, best.Snapshot.Verify(d.Bank, d.Policy, d.Optimiser)
}

// TrainTrial plays a held-out trace with what a training came to and with what it
// began on.
func (s *Service) TrainTrial(ctx context.Context, ref run.Ref, n int, beat func()) error {
	var spec TrainSpec
	var t Trace
	var incumbent, candidate side
	done := false
	err := s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) (err error) {
		if done, err = tx.Training().Trained(ctx, ref.Run, trialStep(n), new(TrialResult)); err != nil || done {
			return err
		}
		if _, spec, err = s.trainSpec(ctx, tx, ref); err != nil {
			return err
		}
		if n < 0 || n >= len(spec.Held) {
			return fault.Newf(fault.InvalidArgument, "run %d holds %d conversations out, and has no trial %d", ref.Run, len(spec.Held), n)
		}
		base, err := s.at(ctx, tx, BankRow{ID: spec.BankID, Name: spec.Bank}, spec.Base)
		if err != nil {
			return err
		}
		_, last, err := trainedSoFar(ctx, tx, ref, spec)
		if err != nil {
			return err
		}
		best, _, err := s.best(ctx, tx, last)
		if err != nil {
			return err
		}
		incumbent, candidate = side{base.Bank, base.Policy}, side{best.Bank, best.Policy}
		_, questions, err := s.traces(ctx, tx, spec.BankID)
		if err != nil {
			return err
		}
		if t, err = s.trace(ctx, tx, spec.Held[n], questions[spec.Held[n]], spec.Keeping.Spanning); err != nil {
			return err
		}
		return tx.Decisions().ShownTo(ctx, ref.Run, t.Conversation)
	})
	if err != nil || done {
		return err
	}
	out, err := s.tried(ctx, playing{ref: ref, step: trialStep(n), model: spec.Model, keeping: spec.Keeping, score: spec.Score, beat: beat}, t, incumbent, candidate)
	if err != nil {
		return err
	}
	return s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil { // keeps it
			return err
		}
		return tx.Training().PutTrained(ctx, ref.Run, trialStep(n), t.Conversation, out)
	})
}

// promoteTrained brings the best stage into force when the gate lets it.
func (s *Service) promoteTrained(ctx context.Context, tx Tx, ref run.Ref, spec TrainSpec, last Staged, out *TrainingResult) error {
	d, score, err := s.best(ctx, tx, last)
	if err != nil {
		return err
	}
	out.Best, out.Policy = score, d.Policy.Hash()
	d.Base, d.Run, d.Reason = spec.Base, ref.Run, fmt.Sprintf("best of %d stages: %.4f", out.Stages, score)
	c, _, why, err := gated(ctx, tx, ref, len(spec.Held))
	if err != nil {
		return err
	}
	if out.Gate = c; c != nil && !c.Promote {
		why = "what was trained is not better on held-out conversations than what is in force"
	}
	if c == nil || !c.Promote {
		out.Note = why
		return nil
	}
	d.Reason += fmt.Sprintf(", %+.4f on %d held-out traces (lower bound %+.4f)", c.Mean, c.Traces, c.Lower)
	head, err := s.advance(ctx, tx, BankRow{ID: spec.BankID, Name: spec.Bank, Head: spec.Base}, d)
	if fault.CodeOf(err) == fault.VersionConflict { // somebody was at the bank all the same: it is theirs
		out.Outcome, out.Note = run.Failed, err.Error()
		return nil
	}
	out.Version = head.Head
	return err
}
