package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/memoryagent"
)

// RegisterLLM makes w host the steps that call a model without an agent.
func (a Agents) RegisterLLM(w worker.ActivityRegistry) {
	register(w, contract.RerankFound, a.RerankFound)
	register(w, contract.CondenseFound, a.CondenseFound)
}

// RerankFound asks for an order of what a search found.
func (a Agents) RerankFound(ctx context.Context, in contract.RunRef) (out contract.Reranked, err error) {
	defer beat(ctx)()
	order, problem, err := a.Service.Rerank(ctx, ref(in))
	for _, p := range order {
		out.Order = append(out.Order, contract.Place(p))
	}
	out.Problem = problem
	return out, temporalError(err)
}

// CondenseFound asks for a text of what is left of it, and ends the run.
func (a Agents) CondenseFound(ctx context.Context, in contract.CondenseInput) error {
	defer beat(ctx)()
	return temporalError(a.Service.Condense(ctx, ref(in.RunRef), places(in.Order)))
}

// CloseRefine ends the run without a text.
func (a Agents) CloseRefine(ctx context.Context, in contract.CloseRefineInput) error {
	return temporalError(a.Service.CloseRefine(ctx, ref(in.RunRef), places(in.Order), in.Problem))
}

func places(in []contract.Place) (out []memoryagent.Place) {
	for _, p := range in {
		out = append(out, memoryagent.Place(p))
	}
	return out
}
