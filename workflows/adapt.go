package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	flow "cairn/internal/domain/contract"
)

// Adapt is an update of a bank's policy from live decisions: those whose outcome is
// known are taken, a policy learns from them, and is tried on held-out
// conversations beside the one in force.
func Adapt(ctx workflow.Context, in flow.AdaptInput) (flow.AdaptResult, error) {
	story := newStory(ctx)
	story.tell("Taking the bank")
	var opened flow.AdaptOpened
	if err := execute(database(ctx, in.Pace, "take the decisions"), flow.OpenAdapt, in, &opened); err != nil {
		return closeAdapt(ctx, in, err)
	}
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	if opened.Decisions == 0 {
		return closeAdapt(ctx, in, nil)
	}
	story.tell(fmt.Sprintf("Learning from %d decisions", opened.Decisions))
	var adapted flow.PolicyAdapted
	if err := execute(batch(ctx, in.Pace, "update the policy"), flow.AdaptPolicy, in, &adapted); err != nil {
		return closeAdapt(ctx, in, err)
	}
	story.tell(fmt.Sprintf("Trying the policy on %d conversations", adapted.Trials))
	return closeAdapt(ctx, in, try(ctx, in.RunRef, in.Pace, flow.ShadowTrial, adapted.Trials))
}

// closeAdapt makes the run's row say how it ended, for a cancelled run too.
func closeAdapt(ctx workflow.Context, in flow.AdaptInput, cause error) (out flow.AdaptResult, err error) {
	code, reason := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	err = execute(database(detached, in.Pace, "close the update"), flow.CloseAdapt, flow.CloseInput{RunRef: in.RunRef, Code: code, Reason: reason}, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}
