package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/offload"
)

// Offload are the activities of working memory.
type Offload struct{ Service *offload.Service }

// RegisterMain makes w host the database steps.
func (a Offload) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.CloseOffload, a.CloseOffload)
	register(w, contract.AwaitOffload, a.AwaitOffload)
}

// RegisterLLM makes w host the model steps.
func (a Offload) RegisterLLM(w worker.ActivityRegistry) { register(w, contract.Compress, a.Compress) }

// Compress has a model record one group of messages.
func (a Offload) Compress(ctx context.Context, in contract.GroupInput) (contract.Compressed, error) {
	defer beat(ctx)()
	code, err := a.Service.Compress(ctx, ref(in.RunRef), in.Group)
	return contract.Compressed{Reason: code}, temporalError(err)
}

// CloseOffload ends a run.
func (a Offload) CloseOffload(ctx context.Context, in contract.CloseOffloadInput) (contract.OffloadResult, error) {
	return offloaded(a.Service.Close(ctx, ref(in.RunRef), in.Reasons, in.Code, in.Why))
}

// AwaitOffload returns when a run has ended.
func (a Offload) AwaitOffload(ctx context.Context, in contract.RunRef) (contract.OffloadResult, error) {
	return offloaded(a.Service.Await(ctx, ref(in)))
}

func offloaded(r offload.CompactionResult, err error) (contract.OffloadResult, error) {
	return contract.OffloadResult{Degraded: r.Degraded != "", Groups: max(len(r.Records), len(r.Handles)), Tokens: r.Tokens}, temporalError(err)
}
