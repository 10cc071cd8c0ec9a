package live

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/train"
	"cairn/internal/store"
)

func shadowStep(n int) string { return fmt.Sprintf("shadow/%04d", n) }

// PlayTrial plays a held-out conversation with the new policy and as live builds do now, on the same
// bank.
func (s *Adaptation) PlayTrial(ctx context.Context, ref run.Ref, n int) error {
	var (
		t                    bank.EpisodeTrace
		spec                 AdaptationSpec
		incumbent, candidate train.Side
		done                 bool
	)
	err := s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		if done, err = bank.IsDone(ctx, tx, ref.Run, shadowStep(n)); err != nil || done {
			return err
		}
		var from basis
		var head bank.Head
		if spec, from, head, err = s.read(ctx, tx, ref); err != nil {
			return err
		}
		if n < 0 || n >= len(from.Held) {
			return fault.Newf(fault.InvalidArgument, "run %s has %d held-out conversations and no trial %d",
				ref.Run, len(from.Held), n)
		}
		result, err := bank.NeedStep[policyResult](ctx, tx, ref.Run, policyStep)
		if err != nil {
			return err
		}
		incumbent, candidate = train.Side{Bank: head.Bank, Policy: head.Production()}, train.Side{Bank: head.Bank}
		if candidate.Policy, _, err = s.ports.Banks.ReadWeights(ctx, tx, result.Policy, result.Optimizer); err != nil {
			return err
		}
		t, err = train.ReadTrialTrace(ctx, tx, ref, spec.BankID, from.Held[n], spec.Keeping)
		return err
	})
	if err != nil || done {
		return err
	}
	out, err := train.PlayTrial(ctx, s.ports.Player, bank.EpisodeSetup{Ref: ref, Step: shadowStep(n), Model: spec.Model,
		Keeping: spec.Keeping, Score: spec.Score}, t, train.Sides{Incumbent: incumbent, Candidate: candidate})
	if err != nil {
		return err
	}
	return s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return bank.SaveStep(ctx, tx, ref.Run, shadowStep(n), t.Conversation, out)
	})
}
