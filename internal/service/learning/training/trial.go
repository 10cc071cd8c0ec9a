package training

import (
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/learning/trial"
)

// PlayTrial plays a held-out trace with the trained version and with the base version.
func (s *Service) PlayTrial(ctx context.Context, ref run.Ref, n int) error {
	var spec Spec
	var t episode.Trace
	var incumbent, candidate trial.Side
	done := false
	err := s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx Tx) (err error) {
		if done, err = runspec.IsDone(ctx, tx, ref.Run, trial.Step(n)); err != nil || done {
			return err
		}
		if _, spec, err = readSpec(ctx, tx, ref); err != nil {
			return err
		}
		if n < 0 || n >= len(spec.Held) {
			return fault.Newf(fault.InvalidArgument, "run %s has %d held-out conversations and no trial %d", ref.Run,
				len(spec.Held), n)
		}
		if incumbent, candidate, err = s.readSides(ctx, tx, ref, spec); err != nil {
			return err
		}
		t, err = trial.ReadTrace(ctx, tx, ref, spec.BankID, spec.Held[n], spec.Keeping)
		return err
	})
	if err != nil || done {
		return err
	}
	out, err := trial.Play(ctx, s.player, episode.Setup{Ref: ref, Step: trial.Step(n), Model: spec.Model,
		Keeping: spec.Keeping, Score: spec.Score}, t, incumbent, candidate)
	if err != nil {
		return err
	}
	return s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if err := s.ports.Banks.HoldLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return runspec.SaveStep(ctx, tx, ref.Run, trial.Step(n), t.Conversation, out)
	})
}

// readSides reads the base version and the trained version.
func (s *Service) readSides(ctx context.Context, tx Tx, ref run.Ref, spec Spec) (incumbent, candidate trial.Side,
	err error) {
	base, err := s.ports.Banks.ReadVersion(ctx, tx, bank.Row{ID: spec.BankID, Name: spec.Bank}, spec.Base)
	if err != nil {
		return incumbent, candidate, err
	}
	_, last, err := readResults(ctx, tx, ref, spec)
	if err != nil {
		return incumbent, candidate, err
	}
	best, _, err := s.best(ctx, tx, last)
	return trial.Side{Bank: base.Bank, Policy: base.Policy}, trial.Side{Bank: best.Bank, Policy: best.Policy}, err
}
