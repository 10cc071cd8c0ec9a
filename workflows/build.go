package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// spansPerRun bounds a history; a longer session goes on in a new one.
const spansPerRun = 200

// Build makes memories of a session with memory skills: span by span, since each
// is shown what the ones before have left. A span whose model fails is told as
// failed and keeps nothing from the others.
func Build(ctx workflow.Context, in contract.BuildInput) (contract.BuildResult, error) {
	story := newStory(ctx)
	story.tell("Keeping the session")
	opened, err := openBuild(ctx, in)
	if err != nil {
		return closeBuild(ctx, in, err)
	}
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	for n := in.From; n < opened.Spans; n++ {
		if n-in.From == spansPerRun {
			in.From = n
			return contract.BuildResult{}, workflow.NewContinueAsNewError(ctx, contract.Build, in)
		}
		story.tell(fmt.Sprintf("Remembering span %d of %d", n+1, opened.Spans))
		if err := buildSpan(ctx, in, n); err != nil {
			return closeBuild(ctx, in, err)
		}
	}
	return closeBuild(ctx, in, nil)
}

func openBuild(ctx workflow.Context, in contract.BuildInput) (out contract.BuildOpened, err error) {
	ctx = database(ctx, in.Pace, "keep the session")
	err = workflow.ExecuteActivity(ctx, contract.OpenBuild, in).Get(ctx, &out)
	return out, err
}

func buildSpan(ctx workflow.Context, in contract.BuildInput, n int) error {
	ctx = model(ctx, in.Pace, fmt.Sprintf("remember span %d", n+1))
	return workflow.ExecuteActivity(ctx, contract.BuildSpan, contract.SpanInput{RunRef: in.RunRef, Span: n}).Get(ctx, nil)
}

// closeBuild makes the run's row say how it ended, for a cancelled run too.
func closeBuild(ctx workflow.Context, in contract.BuildInput, cause error) (out contract.BuildResult, err error) {
	code, reason := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	detached = database(detached, in.Pace, "close the run")
	err = workflow.ExecuteActivity(detached, contract.CloseBuild, contract.CloseInput{RunRef: in.RunRef, Code: code, Reason: reason}).Get(detached, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}
