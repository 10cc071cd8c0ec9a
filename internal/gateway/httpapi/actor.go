package httpapi

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/gateway/edge"
)

// IdempotencyKey lets a caller send a change again without applying it twice.
type IdempotencyKey struct {
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"Key of this change. Requests with the same key apply the change once and return the same response"`
}

// person returns the key's holder as the user who makes a change.
func person(ctx context.Context, once IdempotencyKey) agent.Actor { return edge.Actor(ctx, once.Key) }
