// Package txscope marks the context of a database transaction, so that adapters
// of networks can refuse to be called inside one. A transaction that waits for a
// network holds its locks and its connection for as long.
//
//	err := store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
//		_, err := model.Send(ctx, request) // fault.Internal
//		return err
//	})
package txscope

import (
	"context"

	"cairn/internal/domain/fault"
)

type mark struct{}

// Enter returns a context that says that a transaction is open.
func Enter(ctx context.Context) context.Context { return context.WithValue(ctx, mark{}, true) }

// Reject returns fault.Internal when ctx says that a transaction is open. Adapters
// of networks call it first.
func Reject(ctx context.Context) error {
	if ctx.Value(mark{}) == nil {
		return nil
	}
	return fault.New(fault.Internal, "network call inside a transaction", "")
}
