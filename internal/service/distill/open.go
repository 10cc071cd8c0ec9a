package distill

import (
	"context"

	"cairn/internal/domain/run"
)

// Open picks a run up and asks the gate, for a workflow that is to learn its pace
// before it divides the conversation. It returns false when there is nothing left
// to do.
func (s *Service) Open(ctx context.Context, ref run.Ref) (spec Spec, open bool, err error) {
	j, err := s.load(ctx, ref, func(ctx context.Context, tx Tx, j job) error {
		open, err = j.open(ctx, tx)
		return err
	})
	return j.spec, open, err
}

// open marks a run as picked up and asks the gate. It returns false when there is
// nothing left to do: the run was gated now, or ended by an earlier attempt.
func (j job) open(ctx context.Context, tx Tx) (bool, error) {
	decision := j.spec.Gate.Decide(j.conv.Messages, j.spec.Extract)
	open, err := tx.Runs().StartRun(ctx, j.run.Ref.Run)
	if err != nil || !open || decision.Pass {
		return open, err
	}
	return false, tx.Runs().EndRun(ctx, j.run.Ref.Run, run.Gated, decision.Reason, Result{Gate: &decision})
}
