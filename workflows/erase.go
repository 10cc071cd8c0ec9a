package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

const (
	eraseAgain    = 10 * time.Second // pause before the next deletion round
	eraseStepTime = 24 * time.Hour   // limit of one step, which may delete many rows
)

// Erase removes a workspace or one conversation. It stops writers and open workflows, deletes rows
// and objects, and counts what is left. It ends when nothing is left. Every step is idempotent and
// is retried without a limit.
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
		{contract.EraseDerived, "handle derived data"},
		{contract.EraseCount, "count objects"},
		{contract.EraseRows, "delete rows"},
		{contract.EraseObjects, "delete objects"},
		{contract.EraseStop, "stop workflows that started meanwhile"},
	} {
		options := eraseStep(in.Timeouts, step.summary)
		if err := perform(ctx, options, step.activity, contract.EraseRef{Erasure: in.Erasure}); err != nil {
			return err
		}
	}
	return nil
}

// eraseStep returns the options of a step that may take long. A worker that dies is detected by its
// heartbeat.
func eraseStep(timeouts contract.StepTimeouts, summary string) workflow.ActivityOptions {
	options := databaseStep(timeouts, summary)
	options.StartToCloseTimeout, options.ScheduleToCloseTimeout = eraseStepTime, 0
	options.HeartbeatTimeout = timeouts.Heartbeat
	return options
}
