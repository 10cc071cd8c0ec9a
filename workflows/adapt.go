package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Adapt updates the policy of a bank from live decisions with a known outcome. It trains a policy
// and compares it with the active one on held-out conversations.
func Adapt(ctx workflow.Context, in contract.AdaptInput) (contract.AdaptResult, error) {
	setDetails(ctx, "Claiming the bank")
	opened, err := execute[contract.OpenAdaptResult](
		ctx, databaseStep(in.Timeouts, "take the decisions"), contract.OpenAdapt, in)
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	if err == nil && opened.Decisions > 0 {
		err = adaptPolicy(ctx, in, opened.Decisions)
	}
	return closeRun[contract.CloseInput, contract.AdaptResult](
		ctx, in.Timeouts, contract.CloseAdapt, closeInput(in.RunRef, err), err)
}

// adaptPolicy trains a policy with decisions, and tries it.
func adaptPolicy(ctx workflow.Context, in contract.AdaptInput, decisions int) error {
	setDetails(ctx, "Learning from %d decisions", decisions)
	adapted, err := execute[contract.AdaptPolicyResult](
		ctx, batchStep(in.Timeouts, "update the policy"), contract.AdaptPolicy, in)
	if err != nil {
		return err
	}
	setDetails(ctx, "Trying the policy on %d conversations", adapted.Trials)
	return runTrials(ctx, in.RunRef, in.Timeouts, contract.ShadowTrial, adapted.Trials)
}
