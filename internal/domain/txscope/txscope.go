// Package txscope marks the context of a database transaction, so that network adapters can reject
// calls inside it. A transaction that waits for a network call holds its locks and its connection
// during the call.
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

// Enter returns a context that is marked as inside a transaction.
func Enter(ctx context.Context) context.Context { return context.WithValue(ctx, mark{}, true) }

// Reject returns fault.Internal if ctx is marked as inside a transaction. Network adapters call it
// first.
func Reject(ctx context.Context) error {
	if ctx.Value(mark{}) == nil {
		return nil
	}
	return fault.New(fault.Internal, "network call inside a transaction", "")
}
