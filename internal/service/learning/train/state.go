package train

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// state is the state at the start of an iteration.
type state struct {
	bank      memoryskill.Bank
	fresh     []string
	policy    policy.Chooser
	optimizer policy.Optimizer
	since     int // iterations since the new skills were added
}

// readState reads the state before an iteration: after the previous iteration, else after the
// previous stage, else from the base version.
func (s *Training) readState(ctx context.Context, tx store.Tx, ref run.Ref, spec Spec, stage, iteration int) (out state,
	err error) {
	base, err := s.ports.Banks.ReadVersion(ctx, tx, learning.BankRow{ID: spec.BankID, Name: spec.Bank}, spec.Base)
	if err != nil {
		return out, err
	}
	out = state{bank: base.Bank, fresh: base.Version.Fresh, policy: base.Policy, optimizer: base.Optimizer,
		since: stage*spec.Iterations + iteration}
	if stage == 0 && iteration == 0 {
		out.policy, out.optimizer, err = s.ports.Banks.Reform(base, spec.Recipe, spec.Fuse, spec.Temperature)
		return out, err
	}
	var current, optimizer string
	if stage > 0 {
		before, err := bank.NeedStep[StageResult](ctx, tx, ref.Run, stageStep(stage-1))
		if err != nil {
			return out, err
		}
		if out.bank, err = before.Bank.Bank(); err != nil {
			return out, err
		}
		current, optimizer, out.fresh = before.Policy, before.Optimizer, before.Bank.Fresh
		out.since = (stage-max(0, before.Changed))*spec.Iterations + iteration
	}
	if iteration > 0 {
		before, err := bank.NeedStep[IterationResult](ctx, tx, ref.Run, iterationStep(stage, iteration-1))
		if err != nil {
			return out, err
		}
		current, optimizer = before.Policy, before.Optimizer
	}
	out.policy, out.optimizer, err = s.ports.Banks.ReadWeights(ctx, tx, current, optimizer)
	return out, err
}
