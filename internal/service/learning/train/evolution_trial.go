package train

import (
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// PlayTrial plays a held-out trace with the edited bank, and with the active bank: as live builds do
// now, with all its skills, and with the best fixed set of them. The policy is the same.
func (s *Evolution) PlayTrial(ctx context.Context, ref run.Ref, n int) error {
	var t bank.EpisodeTrace
	done := false
	var fixed []string
	r, spec, head, err := s.read(ctx, ref, func(tx store.Tx, spec EvolutionSpec, h bank.Head) (err error) {
		if n < 0 || n >= len(spec.Held) {
			return fault.Newf(fault.InvalidArgument, "run %s has %d held-out conversations and no trial %d",
				ref.Run, len(spec.Held), n)
		}
		if done, err = bank.IsDone(ctx, tx, ref.Run, TrialStep(n)); err != nil || done {
			return err
		}
		if fixed, err = FixedSet(ctx, tx, ref, h.ID, h.Bank, h.Version.Fresh, spec.Keeping.K); err != nil {
			return err
		}
		t, err = ReadTrialTrace(ctx, tx, ref, h.ID, spec.Held[n], spec.Keeping)
		return err
	})
	if err != nil || done || r.Candidate == nil {
		return err
	}
	candidate, err := r.Candidate.Bank()
	if err != nil {
		return err
	}
	out, err := PlayTrial(ctx, s.player, bank.EpisodeSetup{Ref: ref, Step: TrialStep(n), Model: spec.Model,
		Keeping: spec.Keeping, Score: spec.Score}, t,
		Against(Side{Bank: head.Bank, Policy: head.Production()}, Side{Bank: candidate,
			Policy: bank.Production(candidate, head.Policy, head.Optimizer, r.Candidate.Fresh)}, head.Bank, fixed))
	if err != nil {
		return err
	}
	return s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return bank.SaveStep(ctx, tx, ref.Run, TrialStep(n), t.Conversation, out)
	})
}
