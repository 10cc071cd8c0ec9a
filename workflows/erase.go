package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Erase removes a workspace or one conversation: nobody writes any more, open
// workflows are stopped, rows and objects deleted, and what is left is counted.
// It ends when that is nothing. Every step may be done again, so it is never
// given up.
func Erase(ctx workflow.Context, in contract.EraseInput) (contract.EraseResult, error) {
	story := newStory(ctx)
	story.tell("Waiting for writers in flight")
	if err := erase(ctx, in, contract.EraseFence, "wait for writers in flight"); err != nil {
		return contract.EraseResult{}, err
	}
	for round := 1; ; round++ {
		story.tell(fmt.Sprintf("Deleting, round %d", round))
		if err := eraseAll(ctx, in); err != nil {
			return contract.EraseResult{}, err
		}
		story.tell(fmt.Sprintf("Counting what is left, round %d", round))
		result, err := eraseEnd(ctx, in)
		if err != nil || result.Ended {
			return result, err
		}
		if err := workflow.Sleep(ctx, eraseAgain); err != nil {
			return result, err
		}
	}
}

// eraseAgain is the pause before what was left is deleted.
const eraseAgain = 10 * time.Second

func eraseAll(ctx workflow.Context, in contract.EraseInput) error {
	for _, step := range []struct{ activity, summary string }{
		{contract.EraseStop, "stop open workflows"},
		{contract.EraseDerived, "look after what came of it"},
		{contract.EraseCount, "count objects"},
		{contract.EraseRows, "delete rows"},
		{contract.EraseObjects, "delete objects"},
		{contract.EraseStop, "stop workflows that began meanwhile"},
	} {
		if err := erase(ctx, in, step.activity, step.summary); err != nil {
			return err
		}
	}
	return nil
}

func erase(ctx workflow.Context, in contract.EraseInput, activity, summary string) error {
	ctx = erasing(ctx, in.Pace, summary)
	return workflow.ExecuteActivity(ctx, activity, contract.EraseRef{Erasure: in.Erasure}).Get(ctx, nil)
}

func eraseEnd(ctx workflow.Context, in contract.EraseInput) (out contract.EraseResult, err error) {
	ctx = erasing(ctx, in.Pace, "count what is left")
	err = workflow.ExecuteActivity(ctx, contract.EraseEnd, contract.EraseRef{Erasure: in.Erasure}).Get(ctx, &out)
	return out, err
}

// erasing is a step as long as there is much to delete; a worker that dies is
// noticed by its heartbeat.
func erasing(ctx workflow.Context, pace contract.Pace, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: contract.QueueMain, StartToCloseTimeout: 24 * time.Hour, HeartbeatTimeout: pace.Heartbeat, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second},
	})
}
