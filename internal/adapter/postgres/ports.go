package postgres

import (
	"context"
	"time"

	"cairn/internal/service/relay"
)

// Outbox is the store of the relay.
func (s *Store) Outbox() relay.Store { return outbox{s} }

// Leftovers are what the relay looks over from time to time.
func (s *Store) Leftovers() relay.Leftovers { return outbox{s} }

type outbox struct{ *Store }

func (s outbox) InWorkspace(ctx context.Context, ws int64, fn func(context.Context, relay.Tx) error) error {
	return s.WithWorkspace(ctx, ws, func(q Queries) error { return fn(ctx, q) })
}

func (s outbox) Collect(ctx context.Context, p relay.IdlePackage, grace time.Duration, remove func(key string) error) error {
	return s.WithWorkspace(ctx, p.Workspace, func(q Queries) error { return q.Collect(ctx, p, grace, remove) })
}

func (s outbox) EraseDeleted(ctx context.Context, ws int64, max int) error {
	return s.WithWorkspace(ctx, ws, func(q Queries) error {
		_, err := q.EraseDeleted(ctx, max)
		return err
	})
}
