package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
)

// EraseService erases workspaces and conversations.
type EraseService interface {
	Fence(ctx context.Context, erasure int64) error
	Stop(ctx context.Context, erasure int64) error
	Derived(ctx context.Context, erasure int64) error
	CountObjects(ctx context.Context, erasure int64) error
	Rows(ctx context.Context, erasure int64) error
	Objects(ctx context.Context, erasure int64) error
	End(ctx context.Context, erasure int64) (e erasure.Erasure, ended bool, err error)
}

// Erase are the activities of an erasure.
type Erase struct{ Service EraseService }

// RegisterMain registers the steps with w.
func (a Erase) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.EraseFence, a.Fence)
	register(w, contract.EraseStop, a.Stop)
	register(w, contract.EraseDerived, a.Derived)
	register(w, contract.EraseCount, a.Count)
	register(w, contract.EraseRows, a.Rows)
	register(w, contract.EraseObjects, a.Objects)
	register(w, contract.EraseEnd, a.End)
}

// Fence waits for writers in flight.
func (a Erase) Fence(ctx context.Context, in contract.EraseRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Fence(ctx, in.Erasure))
}

// Stop stops open workflows.
func (a Erase) Stop(ctx context.Context, in contract.EraseRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Stop(ctx, in.Erasure))
}

// Derived handles the data that was derived from a conversation.
func (a Erase) Derived(ctx context.Context, in contract.EraseRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Derived(ctx, in.Erasure))
}

// Count counts the objects to delete.
func (a Erase) Count(ctx context.Context, in contract.EraseRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.CountObjects(ctx, in.Erasure))
}

// Rows deletes rows.
func (a Erase) Rows(ctx context.Context, in contract.EraseRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Rows(ctx, in.Erasure))
}

// Objects deletes packages.
func (a Erase) Objects(ctx context.Context, in contract.EraseRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Objects(ctx, in.Erasure))
}

// End counts what is left.
func (a Erase) End(ctx context.Context, in contract.EraseRef) (contract.EraseResult, error) {
	defer heartbeat(ctx)()
	e, ended, err := a.Service.End(ctx, in.Erasure)
	return contract.EraseResult{
		Ended: ended, Rows: e.Rows(), Objects: e.Objects, Workflows: e.Workflows,
	}, temporalError(err)
}
