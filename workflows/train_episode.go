package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// TrainEpisode builds memories from one trace, starting with an empty store, and asks its
// questions.
func TrainEpisode(ctx workflow.Context, in contract.EpisodeInput) error {
	return perform(ctx, batchStep(in.Timeouts, "play an episode"), contract.PlayEpisode, in)
}
