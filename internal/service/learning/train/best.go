package train

import (
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Best returns the best bank of a training with its policy and optimizer, also if it was not promoted.
func (s *Training) Best(ctx context.Context, ref run.Ref) (d bank.Draft, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		_, spec, err := readSpec(ctx, tx, ref)
		if err != nil {
			return err
		}
		out, last, err := readResults(ctx, tx, ref, spec)
		if err != nil {
			return err
		}
		if out.Stages == 0 {
			return fault.Newf(fault.NotFound, "training %s has no finished stage", ref.Run)
		}
		d, _, err = s.best(ctx, tx, last)
		return err
	})
	return d, err
}
