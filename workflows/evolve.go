package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Evolve is a round of the designer. It analyzes the hardest cases, proposes edits of the bank, and
// tries the edited bank on held-out conversations. The bank becomes active only if it is better
// there.
func Evolve(ctx workflow.Context, in contract.EvolveInput) (contract.EvolveResult, error) {
	setDetails(ctx, "Claiming the bank")
	opened, err := execute[contract.OpenRoundResult](
		ctx, databaseStep(in.Timeouts, "take the bank"), contract.OpenRound, in)
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	if err == nil {
		err = evolveBank(ctx, in)
	}
	return closeRun[contract.CloseInput, contract.EvolveResult](
		ctx, in.Timeouts, contract.CloseRound, closeInput(in.RunRef, err), err)
}

// evolveBank designs a candidate from the hard cases, if there are any, and tries it.
func evolveBank(ctx workflow.Context, in contract.EvolveInput) error {
	setDetails(ctx, "Choosing cases")
	mined, err := execute[contract.MineRoundResult](
		ctx, batchStep(in.Timeouts, "choose cases"), contract.MineRound, in)
	if err != nil || mined.Cases == 0 {
		return err
	}
	setDetails(ctx, "Designing from %d cases", mined.Cases)
	designed, err := execute[contract.DesignRoundResult](
		ctx, batchStep(in.Timeouts, "propose edits"), contract.DesignRound, in)
	if err != nil {
		return err
	}
	setDetails(ctx, "Trying the candidate on %d conversations", designed.Trials)
	return runTrials(ctx, in.RunRef, in.Timeouts, contract.Trial, designed.Trials)
}
