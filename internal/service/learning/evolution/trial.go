package evolution

import (
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/learning/trial"
	"cairn/internal/store"
)

// PlayTrial plays a held-out trace with the edited bank, and with the active bank: as live builds do
// now, with all its skills, and with the best fixed set of them. The policy is the same.
func (s *Service) PlayTrial(ctx context.Context, ref run.Ref, n int) error {
	var t episode.Trace
	done := false
	var fixed []string
	r, spec, head, err := s.read(ctx, ref, func(tx store.Tx, spec Spec, h bank.Head) (err error) {
		if n < 0 || n >= len(spec.Held) {
			return fault.Newf(fault.InvalidArgument, "run %s has %d held-out conversations and no trial %d",
				ref.Run, len(spec.Held), n)
		}
		if done, err = runspec.IsDone(ctx, tx, ref.Run, trial.Step(n)); err != nil || done {
			return err
		}
		if fixed, err = trial.FixedSet(ctx, tx, ref, h.ID, h.Bank, h.Version.Fresh, spec.Keeping.K); err != nil {
			return err
		}
		t, err = trial.ReadTrace(ctx, tx, ref, h.ID, spec.Held[n], spec.Keeping)
		return err
	})
	if err != nil || done || r.Candidate == nil {
		return err
	}
	candidate, err := r.Candidate.Bank()
	if err != nil {
		return err
	}
	out, err := trial.Play(ctx, s.player, episode.Setup{Ref: ref, Step: trial.Step(n), Model: spec.Model,
		Keeping: spec.Keeping, Score: spec.Score}, t,
		trial.Against(trial.Side{Bank: head.Bank, Policy: head.Production()}, trial.Side{Bank: candidate,
			Policy: bank.Production(candidate, head.Policy, head.Optimizer, r.Candidate.Fresh)}, head.Bank, fixed))
	if err != nil {
		return err
	}
	return s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return runspec.SaveStep(ctx, tx, ref.Run, trial.Step(n), t.Conversation, out)
	})
}
