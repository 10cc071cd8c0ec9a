package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// sweepPages are what one run of Sweep looks at before it continues as new, so
// that its history stays short however much is due.
const sweepPages = 20

// Sweep is the heartbeat: it claims what is due page by page, and the activity
// that claims a page starts what the page asks for. What was started goes on by
// itself. A page that is tried again, after a crash or a reset, is the same page.
func Sweep(ctx workflow.Context, in contract.SweepInput) (contract.SweepCounts, error) {
	story := newStory(ctx)
	pages := in.Pages
	if pages == 0 {
		pages = sweepPages
	}
	for page := range pages {
		story.tell(fmt.Sprintf("Page %d: %d tasks were due so far, %d were started", in.Runs*pages+page+1, in.SoFar.Looked, in.SoFar.Started))
		counts, err := sweepPage(ctx, in, page)
		if err != nil {
			return in.SoFar, err
		}
		in.SoFar.Looked += counts.Looked
		in.SoFar.Started += counts.Started
		in.SoFar.Empty += counts.Empty
		in.SoFar.Skipped += counts.Skipped
		if !counts.More {
			return in.SoFar, nil
		}
	}
	in.Runs++
	return in.SoFar, workflow.NewContinueAsNewError(ctx, contract.Sweep, in)
}

// sweepPageTime bounds an attempt at a page; the lease of its slots is as long.
const sweepPageTime = 5 * time.Minute

func sweepPage(ctx workflow.Context, in contract.SweepInput, page int) (out contract.SweepCounts, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: contract.QueueMain, StartToCloseTimeout: sweepPageTime, HeartbeatTimeout: in.Pace.Heartbeat, Summary: "claim a page of what is due, start it",
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second},
	})
	claim := fmt.Sprintf("%s/%d/%d", workflow.GetInfo(ctx).FirstRunID, in.Runs, page)
	err = workflow.ExecuteActivity(ctx, contract.SweepPage, contract.SweepPageInput{Claim: claim, Rows: in.Rows, Heartbeat: in.Pace.Heartbeat}).Get(ctx, &out)
	return out, err
}
