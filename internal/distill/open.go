package distill

import (
	"context"

	"cairn/internal/run"
)

// Open picks a run up and asks the gate. It returns false when there is nothing
// left to do: the run was gated now, or ended by an earlier attempt.
func (s *Service) Open(ctx context.Context, ref run.Ref) (spec Spec, open bool, err error) {
	j, err := s.load(ctx, ref, func(tx Tx, j job) error {
		decision := j.spec.Gate.Decide(j.conv.Messages, j.spec.Extract)
		if open, err = tx.StartRun(ctx, ref.Run); err != nil || !open || decision.Pass {
			return err
		}
		open = false
		return tx.EndRun(ctx, ref.Run, run.Gated, decision.Reason, Result{Gate: &decision})
	})
	return j.spec, open, err
}
