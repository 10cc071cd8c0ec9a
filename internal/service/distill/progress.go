package distill

import (
	"context"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// Progress returns the progress of a run. It may be called several times per second.
func (s *Service) Progress(ctx context.Context, ref run.Ref) (p distillation.Progress, err error) {
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		p, err = tx.Runs().Progress(ctx, ref.Run)
		return err
	})
	return p, err
}
