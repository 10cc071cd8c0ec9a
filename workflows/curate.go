package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Curate looks after the skills of a workspace that were made without anybody
// watching: those that nobody uses grow stale and are archived, those that are
// used again come back.
func Curate(ctx workflow.Context, in contract.CurateInput) (contract.CurateResult, error) {
	setDetails(ctx, "Looking for skills that nobody uses, and for those that say the same")
	return execute[contract.CurateResult](
		ctx, databaseStep(in.Timeouts, "curate the skills"), contract.CurateSkills, in)
}
