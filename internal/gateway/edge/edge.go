// Package edge is what all gateways share where requests enter and leave Cairn: one admission of keys, one form of
// errors, and one writer of event streams.
//
//	shared := edge.New(edge.Options{Log: log, Keys: keys, People: people, Closing: closing})
//	ctx, err := shared.Admit(r, edge.Terms{Scope: access.Write})
//	if err != nil {
//		shared.Refuse(r.Context(), "add a memory", err).Write(w)
//		return
//	}
//	workspace := edge.Caller(ctx).Workspace // services record the caller of ctx as the author
package edge

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/google/uuid"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/service/apikey"
	"cairn/internal/service/channel"
	"cairn/internal/service/throttle"
)

// Options are the dependencies and limits of an Edge.
type Options struct {
	Log            *slog.Logger
	Keys           *apikey.Service
	People         *channel.Service // of the accounts of gateways
	TrustedProxies []netip.Prefix   // whose X-Forwarded-For names the client
	RateLimit      float64          // requests per second of each key; 0 means no limit
	BatchBytes     int64            // bytes of batches per second of each key; 0 means no limit
	RequestBytes   int64            // maximum size of a request body
	// Closing ends when the gateways stop; event streams end with it.
	Closing context.Context
}

// Edge serves the gateways of one process. It is safe for concurrent use.
type Edge struct {
	Options

	attempts *throttle.Throttle
	requests *rates
	bytes    *rates // of batches
}

// New returns an Edge without failed attempts and open streams.
func New(o Options) *Edge {
	return &Edge{Options: o, attempts: throttle.New(), requests: newRates(o.RateLimit, 1),
		bytes: newRates(float64(o.BatchBytes), int(o.RequestBytes))}
}

// Actor returns the Caller of an admitted request as the user who makes a change, once for an idempotency key, which
// may be empty. The origin comes from the server, never from an argument.
func Actor(ctx context.Context, idempotencyKey string) agent.Actor {
	op := "key/chosen/" + idempotencyKey // apart from the IDs of runs and of other changes
	if idempotencyKey == "" {
		op = "key/fresh/" + uuid.NewString()
	}
	h := Caller(ctx)
	return agent.Actor{Workspace: h.Workspace.ID, Origin: agent.OriginUser, Op: op,
		Approves: access.Admin.Allows(h.Scopes)}
}

// WriteJSON writes a response with a body in JSON.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a write error means that the client has disconnected
}
