// Package memorywrite holds what prompt memory and long-term memory share when
// they write: who stands behind a write, the scan of its text, its vectors, and
// the rule that it happens once under its operation ID.
package memorywrite

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
)

// call is what an operation id stands for: the same id for another call, or with
// other arguments, is refused.
type call struct {
	Call string `json:"call"`
	Args any    `json:"args"`
}

// Transaction is what every effect runs in.
type Transaction interface{ Operations() OperationRepository }

// OperationRepository is the log of operations.
type OperationRepository interface {
	// Do runs effect, which fills result, once under op. A later call with the
	// same op and args fills result with what the first one gave.
	Do(ctx context.Context, op string, args, result any, effect func() error) error
	LockMemories(ctx context.Context) error
}

// Once runs effect once under the actor's operation ID.
func Once[T any, X Transaction](ctx context.Context,
	within func(context.Context, int64, func(context.Context, X) error) error,
	a agent.Actor, name string, args any, effect func(context.Context, X) (T, error)) (out T, err error) {
	if a.Op == "" {
		return out, fault.New(fault.InvalidArgument, name+" was called without an operation id",
			"give each call an id of its own, and its retries the same one")
	}
	err = within(ctx, a.Workspace, func(ctx context.Context, tx X) error {
		return tx.Operations().Do(ctx, a.Op, call{name, args}, &out, func() (err error) {
			if err := tx.Operations().LockMemories(ctx); err != nil {
				return err
			}
			out, err = effect(ctx, tx)
			return err
		})
	})
	if err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// RequirePerson refuses whoever is not one.
func RequirePerson(a agent.Actor, what string) error {
	if a.Origin != agent.OriginUser {
		return fault.New(fault.OutOfScope, fmt.Sprintf("%s is for people, not for %s", what, a.Origin),
			"leave it to the user")
	}
	return nil
}
