package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/offload"
)

// OffloadService shortens long threads.
type OffloadService interface {
	Compress(ctx context.Context, ref run.Ref, group int) (code string, err error)
	Close(ctx context.Context, ref run.Ref, reasons []string, code, why string) (offload.CompactionResult, error)
	Await(ctx context.Context, ref run.Ref) (offload.CompactionResult, error)
}

// Offload are the activities of working memory.
type Offload struct{ Service OffloadService }

// RegisterMain registers the database steps with w.
func (a Offload) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.CloseOffload, a.CloseOffload)
	register(w, contract.AwaitOffload, a.AwaitOffload)
}

// RegisterLLM registers the model steps with w.
func (a Offload) RegisterLLM(w worker.ActivityRegistry) { register(w, contract.Compress, a.Compress) }

// Compress summarizes one group of messages with a model.
func (a Offload) Compress(ctx context.Context, in contract.GroupInput) (contract.CompressResult, error) {
	defer heartbeat(ctx)()
	code, err := a.Service.Compress(ctx, ref(in.RunRef), in.Group)
	return contract.CompressResult{Reason: code}, temporalError(err)
}

// CloseOffload closes a run.
func (a Offload) CloseOffload(ctx context.Context, in contract.CloseOffloadInput) (contract.OffloadResult, error) {
	r, err := a.Service.Close(ctx, ref(in.RunRef), in.Reasons, in.Code, in.Why)
	return offloadResult(r), temporalError(err)
}

// AwaitOffload returns when a run has ended.
func (a Offload) AwaitOffload(ctx context.Context, in contract.RunRef) (contract.OffloadResult, error) {
	r, err := a.Service.Await(ctx, ref(in))
	return offloadResult(r), temporalError(err)
}

func offloadResult(r offload.CompactionResult) contract.OffloadResult {
	return contract.OffloadResult{
		Degraded: r.Degraded != "", Groups: max(len(r.Records), len(r.Handles)), Tokens: r.Tokens,
	}
}

func offloadToStart(o agentrun.CompactionPlan) contract.OffloadToStart {
	return contract.OffloadToStart{WorkflowID: o.WorkflowID, Input: o.Input}
}
