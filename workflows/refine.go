package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Refine has a model order what a search found, and write what is left as one
// text. Whoever asked may have stopped waiting; what could not be done is told in
// the run's row, and the search's own answer stands.
func Refine(ctx workflow.Context, in contract.RefineInput) (contract.RefineResult, error) {
	story := newStory(ctx)
	var order []contract.Place
	if in.Rerank {
		story.tell("Ordering what was found")
		out, err := rerankFound(ctx, in)
		if err != nil || out.Problem != "" {
			return closeRefine(ctx, in, nil, out.Problem, err)
		}
		order = out.Order
	}
	if !in.Rewrite {
		return closeRefine(ctx, in, order, "", nil)
	}
	story.tell("Writing what was found as one text")
	if err := condenseFound(ctx, in, order); err != nil {
		return closeRefine(ctx, in, order, "", err)
	}
	return contract.RefineResult{}, nil
}

func rerankFound(ctx workflow.Context, in contract.RefineInput) (out contract.Reranked, err error) {
	ctx = model(ctx, in.Pace, "rerank what was found → model")
	err = workflow.ExecuteActivity(ctx, contract.RerankFound, in.RunRef).Get(ctx, &out)
	return out, err
}

func condenseFound(ctx workflow.Context, in contract.RefineInput, order []contract.Place) error {
	ctx = model(ctx, in.Pace, "rewrite what is left → model")
	return workflow.ExecuteActivity(ctx, contract.CondenseFound, contract.CondenseInput{RunRef: in.RunRef, Order: order}).Get(ctx, nil)
}

// closeRefine makes the run's row say what was done, for a cancelled run too.
func closeRefine(ctx workflow.Context, in contract.RefineInput, order []contract.Place, problem string, cause error) (contract.RefineResult, error) {
	if code, _ := explain(cause); code != "" {
		problem = "the model did not answer (" + code + ")"
	}
	detached, _ := workflow.NewDisconnectedContext(ctx)
	detached = database(detached, in.Pace, "close the run")
	err := workflow.ExecuteActivity(detached, contract.CloseRefine, contract.CloseRefineInput{RunRef: in.RunRef, Order: order, Problem: problem}).Get(detached, nil)
	if temporal.IsCanceledError(cause) {
		return contract.RefineResult{Problem: problem}, cause
	}
	return contract.RefineResult{Problem: problem}, err
}
