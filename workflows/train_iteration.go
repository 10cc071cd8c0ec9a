package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// TrainIteration runs its episodes, some concurrently, and learns from them in their order. The
// result does not depend on the number of workers.
func TrainIteration(ctx workflow.Context, in contract.IterationInput) (contract.IterationResult, error) {
	play := func(ctx workflow.Context, n int) error {
		return runEpisode(ctx, contract.EpisodeInput{IterationInput: in, Episode: n})
	}
	if err := atOnce(ctx, max(1, in.Of.Parallel), in.Of.Episodes, play); err != nil {
		return contract.IterationResult{}, err
	}
	return execute[contract.IterationResult](ctx, batchStep(in.Timeouts, "learn"), contract.Learn, in)
}

func runEpisode(ctx workflow.Context, in contract.EpisodeInput) error {
	id := fmt.Sprintf("%s/episode-%d", iterationID(in.IterationInput), in.Episode+1)
	child := trainingPart(ctx, id, fmt.Sprintf("episode %d of %d", in.Episode+1, in.Of.Episodes))
	return workflow.ExecuteChildWorkflow(child, contract.TrainEpisode, in).Get(ctx, nil)
}
