package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/agent"
	"cairn/internal/service/apikey"
	"cairn/internal/service/promptmemory"
)

type (
	// PendingMemory is a write that waits for a person.
	PendingMemory promptmemory.Pending
	// DecidedPending is what became of a write that waited.
	DecidedPending promptmemory.DecisionResult
)

// PendingMemories are the writes that wait for a person, the oldest first.
type PendingMemories struct {
	Pending []PendingMemory `json:"pending"`
}

type pendingMemoryInput struct {
	PendingMemoryPath
	IdempotencyKey
}

// PendingMemoryPath names a write that waits.
type PendingMemoryPath struct {
	ID int64 `path:"id" minimum:"1" doc:"The write's number"`
}

func (g *Gateway) pendingMemoryRoutes() {
	const path = "/v1/memories/pending"
	handle(g, route{method: http.MethodGet, path: path, id: "listPendingMemories", tag: tagApproval, scope: apikey.Read,
		summary: "List the memory writes that wait for approval, the oldest first"}, g.listPendingMemories)
	handle(g, route{method: http.MethodPost, path: path + "/{id}/approve", id: "approveMemory", tag: tagApproval,
		scope: apikey.Admin, summary: "Do what a memory write that waits wanted",
		about: "It is a conflict, and the write is dropped, when an entry that it changes has moved on since."},
		g.approveMemory)
	handle(g, route{method: http.MethodPost, path: path + "/{id}/reject", id: "rejectMemory", tag: tagApproval,
		scope: apikey.Admin, summary: "Drop a memory write that waits"}, g.rejectMemory)
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
