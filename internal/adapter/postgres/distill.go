package postgres

import (
	"context"

	"cairn/internal/service/distill"
)

// distillStore is the store as the use-case distill sees it.
type distillStore struct{ *Store }

// Distill is the store for the use-case distill.
func (s *Store) Distill() distill.Store { return distillStore{s} }

// Within runs fn in a transaction that has entered ws.
func (s distillStore) Within(ctx context.Context, ws int64, fn func(context.Context, distill.Tx) error) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error { return fn(ctx, distillTx(q)) })
}
