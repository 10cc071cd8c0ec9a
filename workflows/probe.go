package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Probe has memory ask itself what a build has remembered: a model makes a few
// questions from the conversation, each is put to memory, and its score goes to the
// decisions that answer for it. One that cannot be asked keeps nothing from the others.
func Probe(ctx workflow.Context, in contract.ProbeInput) (contract.ProbeResult, error) {
	setDetails(ctx, "Opening the run")
	opened, err := execute[contract.OpenProbeResult](
		ctx, databaseStep(in.Timeouts, "open the run"), contract.OpenProbe, in)
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	if err == nil {
		err = askProbes(ctx, in)
	}
	return closeRun[contract.CloseInput, contract.ProbeResult](
		ctx, in.Timeouts, contract.CloseProbe, closeInput(in.RunRef, err), err)
}

// askProbes has questions made and asks them, one after another. It fails as the last
// one that could not be asked did.
func askProbes(ctx workflow.Context, in contract.ProbeInput) error {
	setDetails(ctx, "Making questions")
	made, err := execute[contract.MakeProbesResult](
		ctx, modelStep(in.Timeouts, "make questions → model"), contract.MakeProbes, in)
	if err != nil {
		return err
	}
	var failed error
	for n := range made.Probes {
		setDetails(ctx, "Asking question %d of %d", n+1, made.Probes)
		options := modelStep(in.Timeouts, fmt.Sprintf("ask question %d", n+1))
		err := perform(ctx, options, contract.AskProbe, contract.AskInput{RunRef: in.RunRef, Probe: n})
		if temporal.IsCanceledError(err) {
			return err
		}
		if err != nil {
			failed = err
		}
	}
	return failed
}
