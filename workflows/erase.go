package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

const (
	eraseAgain    = 10 * time.Second // the pause before what was left is deleted
	eraseStepTime = 24 * time.Hour   // for one step: there may be much to delete
)

// Erase removes a workspace or one conversation: nobody writes any more, open
// workflows are stopped, rows and objects deleted, and what is left is counted.
// It ends when that is nothing. Every step may be done again, so it is never
// given up.
func Erase(ctx workflow.Context, in contract.EraseInput) (contract.EraseResult, error) {
	ref := contract.EraseRef{Erasure: in.Erasure}
	setDetails(ctx, "Waiting for writers in flight")
	fence := eraseStep(in.Timeouts, "wait for writers in flight")
	if err := perform(ctx, fence, contract.EraseFence, ref); err != nil {
		return contract.EraseResult{}, err
	}
	for round := 1; ; round++ {
		setDetails(ctx, "Deleting, round %d", round)
		if err := eraseAll(ctx, in); err != nil {
			return contract.EraseResult{}, err
		}
		setDetails(ctx, "Counting what is left, round %d", round)
		count := eraseStep(in.Timeouts, "count what is left")
		result, err := execute[contract.EraseResult](ctx, count, contract.EraseEnd, ref)
		if err != nil || result.Ended {
			return result, err
		}
		if err := workflow.Sleep(ctx, eraseAgain); err != nil {
			return result, err
		}
	}
}

func eraseAll(ctx workflow.Context, in contract.EraseInput) error {
	for _, step := range []struct{ activity, summary string }{
		{contract.EraseStop, "stop open workflows"},
		{contract.EraseDerived, "look after what came of it"},
		{contract.EraseCount, "count objects"},
		{contract.EraseRows, "delete rows"},
		{contract.EraseObjects, "delete objects"},
		{contract.EraseStop, "stop workflows that began meanwhile"},
	} {
		options := eraseStep(in.Timeouts, step.summary)
		if err := perform(ctx, options, step.activity, contract.EraseRef{Erasure: in.Erasure}); err != nil {
			return err
		}
	}
	return nil
}

// eraseStep is a step as long as there is much to delete; a worker that dies is
// noticed by its heartbeat.
func eraseStep(timeouts contract.StepTimeouts, summary string) workflow.ActivityOptions {
	options := databaseStep(timeouts, summary)
	options.StartToCloseTimeout, options.ScheduleToCloseTimeout = eraseStepTime, 0
	options.HeartbeatTimeout = timeouts.Heartbeat
	return options
}
