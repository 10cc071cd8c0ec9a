package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/agent"
	"cairn/internal/service/apikey"
	"cairn/internal/service/promptmemory"
)

type (
	// PendingMemory is a memory write that needs approval.
	PendingMemory promptmemory.Pending
	// DecidedPending is the result of a decision about a pending write.
	DecidedPending promptmemory.DecisionResult
)

// PendingMemories holds the pending memory writes, the oldest first.
type PendingMemories struct {
	Pending []PendingMemory `json:"pending"`
}

type pendingMemoryInput struct {
	PendingMemoryPath
	IdempotencyKey
}

// PendingMemoryPath is the path parameter that names a pending memory write.
type PendingMemoryPath struct {
	ID int64 `path:"id" minimum:"1" doc:"The pending write's ID"`
}

func (g *Gateway) pendingMemoryRoutes() {
	const path = "/v1/memories/pending"
	handle(g, route{method: http.MethodGet, path: path, id: "listPendingMemories", tag: tagApproval, scope: apikey.Read,
		summary: "List pending memory writes, the oldest first"}, g.listPendingMemories)
	handle(g, route{
		method:  http.MethodPost,
		path:    path + "/{id}/approve",
		id:      "approveMemory",
		tag:     tagApproval,
		scope:   apikey.Admin,
		summary: "Approve a pending memory write",
		about: "If an entry that the write changes has a newer version, the request fails with a conflict and " +
			"the write is dropped.",
	},
		g.approveMemory)
	handle(g, route{method: http.MethodPost, path: path + "/{id}/reject", id: "rejectMemory", tag: tagApproval,
		scope: apikey.Admin, summary: "Reject a pending memory write"}, g.rejectMemory)
}

func (g *Gateway) listPendingMemories(ctx context.Context, in *struct {
	Limit int `query:"limit" default:"200" minimum:"1" maximum:"1000"`
}) (*bodyOf[PendingMemories], error) {
	waiting, err := g.Memory.PendingList(ctx, person(ctx, IdempotencyKey{}), in.Limit)
	out := &bodyOf[PendingMemories]{PendingMemories{[]PendingMemory{}}}
	for _, p := range waiting {
		out.Body.Pending = append(out.Body.Pending, PendingMemory(p))
	}
	return out, err
}

func (g *Gateway) approveMemory(ctx context.Context, in *pendingMemoryInput) (*bodyOf[DecidedPending], error) {
	return decided(ctx, g.Memory.Approve, in)
}

func (g *Gateway) rejectMemory(ctx context.Context, in *pendingMemoryInput) (*bodyOf[DecidedPending], error) {
	return decided(ctx, g.Memory.Reject, in)
}

func decided(ctx context.Context,
	decide func(context.Context, agent.Actor, int64) (promptmemory.DecisionResult, error),
	in *pendingMemoryInput) (*bodyOf[DecidedPending], error) {
	d, err := decide(ctx, person(ctx, in.IdempotencyKey), in.ID)
	return &bodyOf[DecidedPending]{DecidedPending(d)}, err
}
