package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Adapt is an update of a bank's policy from live decisions: those whose outcome is
// known are taken, a policy learns from them, and is tried on held-out
// conversations beside the one in force.
func Adapt(ctx workflow.Context, in contract.AdaptInput) (contract.AdaptResult, error) {
	story := newStory(ctx)
	story.tell("Taking the bank")
	var opened contract.AdaptOpened
	if err := execute(database(ctx, in.Pace, "take the decisions"), contract.OpenAdapt, in, &opened); err != nil {
		return closeAdapt(ctx, in, err)
	}
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	if opened.Decisions == 0 {
		return closeAdapt(ctx, in, nil)
	}
	story.tell(fmt.Sprintf("Learning from %d decisions", opened.Decisions))
	var adapted contract.PolicyAdapted
	if err := execute(batch(ctx, in.Pace, "update the policy"), contract.AdaptPolicy, in, &adapted); err != nil {
		return closeAdapt(ctx, in, err)
	}
	story.tell(fmt.Sprintf("Trying the policy on %d conversations", adapted.Trials))
	return closeAdapt(ctx, in, try(ctx, in.RunRef, in.Pace, contract.ShadowTrial, adapted.Trials))
}

// closeAdapt makes the run's row say how it ended, for a cancelled run too.
func closeAdapt(ctx workflow.Context, in contract.AdaptInput, cause error) (out contract.AdaptResult, err error) {
	code, reason := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	err = execute(database(detached, in.Pace, "close the update"), contract.CloseAdapt, contract.CloseInput{RunRef: in.RunRef, Code: code, Reason: reason}, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}
