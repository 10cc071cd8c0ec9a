package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Refine has a model order what a search found, and write what is left as one
// text. Whoever asked may have stopped waiting; what could not be done is told in
// the run's row, and the search's own answer stands.
func Refine(ctx workflow.Context, in contract.RefineInput) (contract.RefineResult, error) {
	var found contract.RerankResult
	var err error
	if in.Rerank {
		setDetails(ctx, "Ordering what was found")
		options := modelStep(in.Timeouts, "rerank what was found → model")
		found, err = execute[contract.RerankResult](ctx, options, contract.RerankFound, in.RunRef)
	}
	if found.Problem != "" { // what was ordered with a problem is in no order
		found.Order = nil
	}
	if in.Rewrite && err == nil && found.Problem == "" {
		setDetails(ctx, "Writing what was found as one text")
		options := modelStep(in.Timeouts, "rewrite what is left → model")
		condense := contract.CondenseInput{RunRef: in.RunRef, Order: found.Order}
		if err = perform(ctx, options, contract.CondenseFound, condense); err == nil {
			return contract.RefineResult{}, nil // which has ended the run
		}
	}
	closing := contract.CloseRefineInput{RunRef: in.RunRef, Order: found.Order, Problem: found.Problem}
	if code, _ := explain(err); code != "" {
		closing.Problem = "the model did not answer (" + code + ")"
	}
	return closeRun[contract.CloseRefineInput, contract.RefineResult](
		ctx, in.Timeouts, contract.CloseRefine, closing, err)
}
