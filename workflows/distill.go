// Package workflows contains Cairn's Temporal workflows. A workflow's history contains IDs and
// counts; the content is stored in Postgres.
package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Distill turns one conversation into skills. It checks the gate, divides the conversation into
// tasks, runs a child for each task, and closes the run. A failed task affects only its own result.
// The run always closes.
func Distill(ctx workflow.Context, in contract.DistillInput) (contract.DistillResult, error) {
	if in.Timeouts == (contract.StepTimeouts{}) { // the configuration is unreadable, which the first step reports
		in.Timeouts = defaultTimeouts()
	}
	setDetails(ctx, "Checking the gate and dividing the conversation into tasks")
	found, err := execute[contract.SegmentResult](
		ctx, modelStep(in.Timeouts, "divide into tasks → model"), contract.Segment, in.RunRef)
	if err == nil && !found.Ended {
		setDetails(ctx, "Distilling %d tasks, %d at once", len(found.Tasks), in.Timeouts.Tasks)
		err = distillTasks(ctx, in, found.Tasks)
	}
	setDetails(ctx, "Closing the run")
	return closeRun[contract.CloseInput, contract.DistillResult](
		ctx, in.Timeouts, contract.CloseRun, closeInput(in.RunRef, err), err)
}

// distillTasks runs a child for each task, StepTimeouts.Tasks concurrently. It fails only if it is
// canceled: each child ends its own task in every case.
func distillTasks(ctx workflow.Context, in contract.DistillInput, tasks []string) error {
	places := workflow.NewSemaphore(ctx, int64(max(in.Timeouts.Tasks, 1)))
	group := workflow.NewWaitGroup(ctx)
	errs := make([]error, len(tasks))
	for i, key := range tasks {
		if err := places.Acquire(ctx, 1); err != nil {
			errs[i] = err
			break
		}
		group.Add(1)
		task := contract.TaskRef{
			RunRef: in.RunRef, Task: key, Position: i + 1, Of: len(tasks), Timeouts: in.Timeouts,
		}
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			defer places.Release(1)
			errs[i] = distillTask(ctx, in.WorkflowID, task)
		})
	}
	// Children receive the cancellation and end their tasks. The run closes after them.
	detached, _ := workflow.NewDisconnectedContext(ctx)
	group.Wait(detached)
	return errors.Join(errs...)
}

// distillTask runs the child of one task. After a reset of the parent, a child that has already run
// is not run again; the result of its task is read.
func distillTask(ctx workflow.Context, parent string, task contract.TaskRef) error {
	place := fmt.Sprintf("task %d of %d", task.Position, task.Of)
	options := independentChild(parent+"/"+task.Task, place, inherited(ctx))
	options.WaitForCancellation = true
	child := workflow.WithChildOptions(ctx, options)
	err := workflow.ExecuteChildWorkflow(child, contract.DistillSkill, task).Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		wait := onWorkflowQueue(ctx, databaseStep(task.Timeouts, "wait for "+place))
		return perform(ctx, wait, contract.AwaitTask, task)
	}
	return err
}
