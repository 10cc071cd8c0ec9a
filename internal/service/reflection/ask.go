package reflection

import (
	"context"

	"cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// Generation returns the generation for a manual request of a date: the latest, or the next one if
// the latest failed or redo is set.
func (s *Service) Generation(ctx context.Context, ws int64, date string, redo bool) (n int, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		latest, found, err := tx.Runs().RunOf(ctx, run.Reflection, date)
		if n = 0; err != nil || !found {
			return err
		}
		if latest.Status == run.Ended && (redo || latest.Reason == reflection.Failed) {
			n = latest.Generation + 1
		}
		return nil
	})
	return n, err
}

// Conversations returns the conversations that a run reads.
func (s *Service) Conversations(ctx context.Context, ref run.Ref) (out []int64, err error) {
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		p, err := pinnedOf(r)
		out = p.Conversations
		return err
	})
	return out, err
}

// Run reads a run.
func (s *Service) Run(ctx context.Context, ref run.Ref) (r run.Run, err error) {
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err = tx.Runs().Run(ctx, ref.Run)
		return err
	})
	return r, err
}
