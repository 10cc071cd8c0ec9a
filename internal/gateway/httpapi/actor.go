package httpapi

import (
	"context"

	"github.com/google/uuid"

	"cairn/internal/domain/agent"
)

// IdempotencyKey lets a caller send a change again without doing it again.
type IdempotencyKey struct {
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"The same key is the same change: it is done once, and answered alike every time"`
}

// person is whoever holds the key, as the one who writes: the server says so,
// and no argument does.
func person(ctx context.Context, once IdempotencyKey) agent.Actor {
	return agent.Actor{Workspace: workspace(ctx), Origin: agent.OriginUser, Op: operation("key", once.Key)}
}

// operation is the operation id of a call from outside. The prefix keeps the ids
// that callers choose apart from those of runs and from one another.
func operation(kind, chosen string) string {
	if chosen == "" {
		return kind + "/fresh/" + uuid.NewString()
	}
	return kind + "/chosen/" + chosen
}
