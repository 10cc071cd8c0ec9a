package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// iterationsPerRun limits the history of a stage.
const iterationsPerRun = 50

// TrainStage runs the iterations of a stage on one bank, and closes the stage.
func TrainStage(ctx workflow.Context, in contract.StageInput) (contract.StageResult, error) {
	for i := in.FromIteration; i < in.Of.Iterations; i++ {
		if i-in.FromIteration == iterationsPerRun {
			in.FromIteration = i
			return contract.StageResult{}, workflow.NewContinueAsNewError(ctx, contract.TrainStage, in)
		}
		setDetails(ctx, "Iteration %d of %d", i+1, in.Of.Iterations)
		if err := runIteration(ctx, contract.IterationInput{StageInput: in, Iteration: i}); err != nil {
			return contract.StageResult{}, err
		}
	}
	setDetails(ctx, "Closing the stage")
	return execute[contract.StageResult](ctx, batchStep(in.Timeouts, "close the stage"), contract.CloseStage, in)
}

func runIteration(ctx workflow.Context, in contract.IterationInput) error {
	summary := fmt.Sprintf("iteration %d of %d", in.Iteration+1, in.Of.Iterations)
	child := trainingPart(ctx, iterationID(in), summary)
	return workflow.ExecuteChildWorkflow(child, contract.TrainIteration, in).Get(ctx, nil)
}

func iterationID(in contract.IterationInput) string {
	return fmt.Sprintf("%s/iteration-%d", stageID(in.StageInput), in.Iteration+1)
}
