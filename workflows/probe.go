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
	story := newStory(ctx)
	story.tell("Opening the run")
	var opened contract.ProbeOpened
	if err := execute(database(ctx, in.Pace, "open the run"), contract.OpenProbe, in, &opened); err != nil {
		return closeProbe(ctx, in, err)
	}
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	story.tell("Making questions")
	var made contract.ProbesMade
	if err := execute(model(ctx, in.Pace, "make questions → model"), contract.MakeProbes, in, &made); err != nil {
		return closeProbe(ctx, in, err)
	}
	var failed error
	for n := range made.Probes {
		story.tell(fmt.Sprintf("Asking question %d of %d", n+1, made.Probes))
		err := execute(model(ctx, in.Pace, fmt.Sprintf("ask question %d", n+1)), contract.AskProbe, contract.AskInput{RunRef: in.RunRef, Probe: n}, nil)
		if temporal.IsCanceledError(err) {
			return closeProbe(ctx, in, err)
		}
		if err != nil {
			failed = err
		}
	}
	return closeProbe(ctx, in, failed)
}

// closeProbe makes the run's row say how it ended, for a cancelled run too.
func closeProbe(ctx workflow.Context, in contract.ProbeInput, cause error) (out contract.ProbeResult, err error) {
	code, reason := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	err = execute(database(detached, in.Pace, "close the run"), contract.CloseProbe, contract.CloseInput{RunRef: in.RunRef, Code: code, Reason: reason}, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}
