package postgres

import (
	"context"
	"time"

	"cairn/internal/service/apikey"
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

// Keys keeps the hashes of API keys.
func (s *Store) Keys() apikey.Store { return keyStore{s} }

type keyStore struct{ *Store }

func (s keyStore) PutKey(ctx context.Context, ws int64, k apikey.Key, hash apikey.Hash) (out apikey.Key, err error) {
	err = s.WithWorkspace(ctx, ws, func(q Queries) error {
		out, err = q.PutKey(ctx, k, hash)
		return err
	})
	return out, err
}

func (s keyStore) Keys(ctx context.Context, ws int64) (out []apikey.Key, err error) {
	err = s.WithWorkspace(ctx, ws, func(q Queries) error {
		out, err = q.Keys(ctx)
		return err
	})
	return out, err
}

func (s keyStore) RevokeKey(ctx context.Context, ws, id int64) error {
	return s.WithWorkspace(ctx, ws, func(q Queries) error { return q.RevokeKey(ctx, id) })
}

func (s keyStore) Principal(ctx context.Context, hash apikey.Hash) (apikey.Principal, error) {
	return s.Holder(ctx, hash)
}
