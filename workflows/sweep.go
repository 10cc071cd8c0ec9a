package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

const (
	// sweepPages is the number of pages of one run of Sweep before it continues as new, which
	// limits its history.
	sweepPages = 20
	// sweepPageTime limits an attempt at a page. The lease of its firings has the same duration.
	sweepPageTime = 5 * time.Minute
)

// Sweep claims due tasks page by page. The activity that claims a page also starts its tasks, which
// run independently. A page that is retried, after a crash or a reset, is the same page.
func Sweep(ctx workflow.Context, in contract.SweepInput) (contract.SweepCounts, error) {
	pages := in.Pages
	if pages == 0 {
		pages = sweepPages
	}
	for page := range pages {
		setDetails(ctx, "Page %d: %d tasks due, %d started",
			in.Runs*pages+page+1, in.SoFar.Looked, in.SoFar.Started)
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

func sweepPage(ctx workflow.Context, in contract.SweepInput, page int) (contract.SweepCounts, error) {
	options := databaseStep(in.Timeouts, "claim a page of what is due, start it")
	options.StartToCloseTimeout, options.ScheduleToCloseTimeout = sweepPageTime, 0
	options.HeartbeatTimeout = in.Timeouts.Heartbeat
	claim := fmt.Sprintf("%s/%d/%d", workflow.GetInfo(ctx).FirstRunID, in.Runs, page)
	return execute[contract.SweepCounts](ctx, options, contract.SweepPage,
		contract.SweepPageInput{Claim: claim, Rows: in.Rows, Heartbeat: in.Timeouts.Heartbeat})
}
