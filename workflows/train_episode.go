package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// TrainEpisode remembers one trace from nothing and asks about it.
func TrainEpisode(ctx workflow.Context, in contract.EpisodeInput) error {
	return perform(ctx, batchStep(in.Timeouts, "play an episode"), contract.PlayEpisode, in)
}
