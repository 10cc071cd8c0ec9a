package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
)

// ReembedService re-embeds workspaces.
type ReembedService interface {
	Begin(ctx context.Context, in contract.ReembedInput) error
	Batch(ctx context.Context, in contract.ReembedBatchInput) (documents int, err error)
	Switch(ctx context.Context, in contract.ReembedSwitchInput) (done bool, err error)
	Mark(ctx context.Context, in contract.ReembedMarkInput) error
}

// Reembed are the activities of a re-embedding.
type Reembed struct{ Service ReembedService }

// RegisterMain registers the database steps with w.
func (a Reembed) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.ReembedBegin, a.Begin)
	register(w, contract.ReembedSwitch, a.Switch)
	register(w, contract.ReembedMark, a.Mark)
}

// RegisterLLM registers the steps that call the embedding model with w.
func (a Reembed) RegisterLLM(w worker.ActivityRegistry) { register(w, contract.ReembedBatch, a.Batch) }

// Begin opens the progress.
func (a Reembed) Begin(ctx context.Context, in contract.ReembedInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Begin(ctx, in))
}

// Batch embeds the next documents.
func (a Reembed) Batch(ctx context.Context, in contract.ReembedBatchInput) (contract.ReembedBatchResult, error) {
	defer heartbeat(ctx)()
	n, err := a.Service.Batch(ctx, in)
	return contract.ReembedBatchResult{Documents: n}, temporalError(err)
}

// Switch makes the workspace use the space.
func (a Reembed) Switch(ctx context.Context, in contract.ReembedSwitchInput) (contract.ReembedSwitchResult, error) {
	defer heartbeat(ctx)()
	done, err := a.Service.Switch(ctx, in)
	return contract.ReembedSwitchResult{Done: done}, temporalError(err)
}

// Mark stores the state.
func (a Reembed) Mark(ctx context.Context, in contract.ReembedMarkInput) error {
	return temporalError(a.Service.Mark(ctx, in))
}
