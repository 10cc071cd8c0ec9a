package train

import (
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// PlayTrial plays a held-out trace with the trained version, with what live builds do now, and with
// all skills and the best fixed set of the trained version.
func (s *Training) PlayTrial(ctx context.Context, ref run.Ref, n int) error {
	var spec Spec
	var t bank.EpisodeTrace
	var sides Sides
	done := false
	err := s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		if done, err = bank.IsDone(ctx, tx, ref.Run, TrialStep(n)); err != nil || done {
			return err
		}
		if _, spec, err = readSpec(ctx, tx, ref); err != nil {
			return err
		}
		if n < 0 || n >= len(spec.Held) {
			return fault.Newf(fault.InvalidArgument, "run %s has %d held-out conversations and no trial %d", ref.Run,
				len(spec.Held), n)
		}
		if sides, err = s.readSides(ctx, tx, ref, spec); err != nil {
			return err
		}
		t, err = ReadTrialTrace(ctx, tx, ref, spec.BankID, spec.Held[n], spec.Keeping)
		return err
	})
	if err != nil || done {
		return err
	}
	out, err := PlayTrial(ctx, s.player, bank.EpisodeSetup{Ref: ref, Step: TrialStep(n), Model: spec.Model,
		Keeping: spec.Keeping, Score: spec.Score}, t, sides)
	if err != nil {
		return err
	}
	return s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := s.ports.Banks.HoldLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return bank.SaveStep(ctx, tx, ref.Run, TrialStep(n), t.Conversation, out)
	})
}

// readSides reads the sides of a trial.
func (s *Training) readSides(ctx context.Context, tx store.Tx, ref run.Ref, spec Spec) (out Sides, err error) {
	base, err := s.ports.Banks.ReadVersion(ctx, tx, learning.BankRow{ID: spec.BankID, Name: spec.Bank}, spec.Base)
	if err != nil {
		return out, err
	}
	_, last, err := readResults(ctx, tx, ref, spec)
	if err != nil {
		return out, err
	}
	best, _, err := s.best(ctx, tx, last)
	if err != nil {
		return out, err
	}
	fixed, err := FixedSet(ctx, tx, ref, spec.BankID, best.Bank, best.Fresh, spec.Keeping.K)
	return Against(Side{Bank: base.Bank, Policy: base.Production()},
		Side{Bank: best.Bank, Policy: bank.Production(best.Bank, best.Policy, best.Optimizer, best.Fresh)},
		best.Bank, fixed), err
}
