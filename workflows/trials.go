package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// trialsAtOnce limits the concurrent trials of a run.
const trialsAtOnce = 4

// runTrials runs the held-out conversations with one activity each, some concurrently.
func runTrials(
	ctx workflow.Context, ref contract.RunRef, timeouts contract.StepTimeouts, activity string, trials int,
) error {
	return atOnce(ctx, trialsAtOnce, trials, func(ctx workflow.Context, n int) error {
		options := batchStep(timeouts, fmt.Sprintf("trial %d of %d", n+1, trials))
		return perform(ctx, options, activity, contract.TrialInput{RunRef: ref, Trial: n})
	})
}

// atOnce runs numbered items from 0, at most most of them concurrently, to their end. It returns
// the failure with the lowest number.
func atOnce(ctx workflow.Context, most, numbers int, run func(workflow.Context, int) error) error {
	slots := workflow.NewSemaphore(ctx, int64(most))
	group := workflow.NewWaitGroup(ctx)
	failed := make([]error, numbers)
	for n := range numbers {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			if failed[n] = slots.Acquire(ctx, 1); failed[n] != nil {
				return
			}
			defer slots.Release(1)
			failed[n] = run(ctx, n)
		})
	}
	group.Wait(ctx)
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
