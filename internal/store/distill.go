package store

import (
	"context"

	"cairn/internal/service/distill"
)

// distillStore implements the store of the service distill.
type distillStore struct{ *Store }

// Distill returns the store of the service distill.
func (s *Store) Distill() distill.Store { return distillStore{s} }

// Within runs fn in a transaction that has entered ws.
func (s distillStore) Within(ctx context.Context, ws int64, fn func(context.Context, distill.Tx) error) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error { return fn(ctx, distillTx(q)) })
}
