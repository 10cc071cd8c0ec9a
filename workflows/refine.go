package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Refine reranks the results of a search with a model, and condenses them to one text. Its caller
// may have stopped waiting. Problems are stored in the run's row, and the original search results
// stay available.
func Refine(ctx workflow.Context, in contract.RefineInput) (contract.RefineResult, error) {
	var found contract.RerankResult
	var err error
	if in.Rerank {
		setDetails(ctx, "Reranking the results")
		options := modelStep(in.Timeouts, "rerank what was found → model")
		found, err = execute[contract.RerankResult](ctx, options, contract.RerankFound, in.RunRef)
	}
	if found.Problem != "" { // the order is not usable
		found.Order = nil
	}
	if in.Rewrite && err == nil && found.Problem == "" {
		setDetails(ctx, "Condensing the results")
		options := modelStep(in.Timeouts, "rewrite what is left → model")
		condense := contract.CondenseInput{RunRef: in.RunRef, Order: found.Order}
		if err = perform(ctx, options, contract.CondenseFound, condense); err == nil {
			return contract.RefineResult{}, nil // the activity has ended the run
		}
	}
	closing := contract.CloseRefineInput{RunRef: in.RunRef, Order: found.Order, Problem: found.Problem}
	if code, _ := explain(err); code != "" {
		closing.Problem = "the model call failed (" + code + ")"
	}
	return closeRun[contract.CloseRefineInput, contract.RefineResult](
		ctx, in.Timeouts, contract.CloseRefine, closing, err)
}
