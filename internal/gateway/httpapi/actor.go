package httpapi

import (
	"context"

	"github.com/google/uuid"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
)

// IdempotencyKey lets a caller send a change again without applying it twice.
type IdempotencyKey struct {
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"Key of this change. Requests with the same key apply the change once and return the same response"`
}

// person returns the key's holder as the user who makes a change. The origin comes from
// the server, never from an argument.
func person(ctx context.Context, once IdempotencyKey) agent.Actor {
	return agent.Actor{Workspace: workspace(ctx), Origin: agent.OriginUser, Op: operation("key", once.Key),
		Approves: access.Admin.Allows(asking(ctx).Scopes)}
}

// operation returns the operation ID of an external call. The prefix keeps IDs chosen
// by callers apart from those of runs and from one another.
func operation(kind, chosen string) string {
	if chosen == "" {
		return kind + "/fresh/" + uuid.NewString()
	}
	return kind + "/chosen/" + chosen
}
