package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/memoryagent"
)

// RefineService refines the results of a search with a model.
type RefineService interface {
	Rerank(ctx context.Context, ref run.Ref) (order []memoryagent.Place, problem string, err error)
	Condense(ctx context.Context, ref run.Ref, order []memoryagent.Place) error
	CloseRefine(ctx context.Context, ref run.Ref, order []memoryagent.Place, problem string) error
}

// RegisterLLM registers the steps that call a model without an agent.
func (a Agents) RegisterLLM(w worker.ActivityRegistry) {
	register(w, contract.RerankFound, a.RerankFound)
	register(w, contract.CondenseFound, a.CondenseFound)
}

// RerankFound reranks the results of a search.
func (a Agents) RerankFound(ctx context.Context, in contract.RunRef) (contract.RerankResult, error) {
	defer heartbeat(ctx)()
	order, problem, err := a.Service.Rerank(ctx, ref(in))
	out := contract.RerankResult{Problem: problem}
	for _, p := range order {
		out.Order = append(out.Order, contract.Place(p))
	}
	return out, temporalError(err)
}

// CondenseFound condenses the remaining results to a text, and ends the run.
func (a Agents) CondenseFound(ctx context.Context, in contract.CondenseInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Condense(ctx, ref(in.RunRef), placesOf(in.Order)))
}

// CloseRefine closes the run without a text.
func (a Agents) CloseRefine(ctx context.Context, in contract.CloseRefineInput) (contract.RefineResult, error) {
	err := a.Service.CloseRefine(ctx, ref(in.RunRef), placesOf(in.Order), in.Problem)
	return contract.RefineResult{Problem: in.Problem}, temporalError(err)
}

func placesOf(in []contract.Place) (out []memoryagent.Place) {
	for _, p := range in {
		out = append(out, memoryagent.Place(p))
	}
	return out
}
