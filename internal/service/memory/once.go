package memory

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

// call identifies the call that belongs to an operation ID. The same ID with another call or other
// arguments is refused.
type call struct {
	Call string `json:"call"`
	Args any    `json:"args"`
}

// Once runs effect once per operation ID of the actor. Repeated calls return the stored result. An
// empty operation ID is an error.
func Once[T any](ctx context.Context, within func(context.Context, int64, func(context.Context, store.Tx) error) error,
	a agent.Actor, name string, args any, effect func(context.Context, store.Tx) (T, error)) (out T, err error) {
	if a.Op == "" {
		return out, fault.New(fault.InvalidArgument, name+": operation ID is required",
			"send a unique operation ID with each call, and the same one with each retry")
	}
	err = within(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Operations().Do(ctx, a.Op, call{name, args}, &out, func() (err error) {
			if err := tx.PromptMemory().LockMemories(ctx); err != nil {
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

// RequirePerson returns an OutOfScope error unless the origin of the actor is the user. The
// operation is named by what.
func RequirePerson(a agent.Actor, what string) error {
	if a.Origin != agent.OriginUser {
		return fault.New(fault.OutOfScope, fmt.Sprintf("%s requires a user, not origin %q", what, a.Origin),
			"ask the user to do it")
	}
	return nil
}
