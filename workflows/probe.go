package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Probe asks self-test questions about the memories of a build. A model writes questions from the
// conversation, each question is asked, and its score is credited to the responsible decisions. A
// question that fails does not affect the others.
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

// askProbes creates the questions and asks them one at a time. It returns the error of the last
// question that failed.
func askProbes(ctx workflow.Context, in contract.ProbeInput) error {
	setDetails(ctx, "Writing questions")
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
