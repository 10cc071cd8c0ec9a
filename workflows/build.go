package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// spansPerRun limits the history. A longer session continues as new.
const spansPerRun = 200

// Build extracts memories from a session with memory skills, span by span, because each span is
// shown the memories of the previous ones. A span whose model call fails is recorded as failed, and
// the others continue.
func Build(ctx workflow.Context, in contract.BuildInput) (contract.BuildResult, error) {
	setDetails(ctx, "Storing the session")
	opened, err := execute[contract.OpenBuildResult](
		ctx, databaseStep(in.Timeouts, "keep the session"), contract.OpenBuild, in)
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	for n := in.From; err == nil && n < opened.Spans; n++ {
		if n-in.From == spansPerRun {
			in.From = n
			return contract.BuildResult{}, workflow.NewContinueAsNewError(ctx, contract.Build, in)
		}
		setDetails(ctx, "Processing span %d of %d", n+1, opened.Spans)
		options := modelStep(in.Timeouts, fmt.Sprintf("remember span %d", n+1))
		err = perform(ctx, options, contract.BuildSpan, contract.SpanInput{RunRef: in.RunRef, Span: n})
	}
	return closeRun[contract.CloseInput, contract.BuildResult](
		ctx, in.Timeouts, contract.CloseBuild, closeInput(in.RunRef, err), err)
}
