package distill

import (
	"context"

	"cairn/internal/domain/run"
)

// open marks a run as picked up and asks the gate. It returns false when there is
// nothing left to do: the run was gated now, or ended by an earlier attempt.
func (j job) open(ctx context.Context, tx Tx) (bool, error) {
	decision := j.spec.Gate.Decide(j.conv.Messages, j.spec.Extract)
	open, err := tx.StartRun(ctx, j.run.Ref.Run)
	if err != nil || !open || decision.Pass {
		return open, err
	}
	return false, tx.EndRun(ctx, j.run.Ref.Run, run.Gated, decision.Reason, Result{Gate: &decision})
}
