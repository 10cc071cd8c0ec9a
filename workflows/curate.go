package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Curate maintains the skills that background runs have created in a workspace. Unused skills
// become stale and are archived, and skills that are used again are restored.
func Curate(ctx workflow.Context, in contract.CurateInput) (contract.CurateResult, error) {
	setDetails(ctx, "Archiving unused skills and finding near duplicates")
	return execute[contract.CurateResult](
		ctx, databaseStep(in.Timeouts, "curate the skills"), contract.CurateSkills, in)
}
