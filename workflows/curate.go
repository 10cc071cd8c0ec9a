package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Curate looks after the skills of a workspace that were made without anybody
// watching: those that nobody uses grow stale and are archived, those that are
// used again come back.
func Curate(ctx workflow.Context, in contract.CurateInput) (out contract.CurateResult, err error) {
	newStory(ctx).tell("Looking for skills that nobody uses, and for those that say the same")
	ctx = database(ctx, in.Pace, "curate the skills")
	err = workflow.ExecuteActivity(ctx, contract.CurateSkills, in).Get(ctx, &out)
	return out, err
}
