// Package workflows says what happens, in order. A workflow's history carries
// ids and counts; what the ids stand for is in Postgres.
package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Distill turns one conversation into skills: gate and divide into tasks, one child
// for each task, and close the run. A task that fails is an outcome of that task;
// the run itself always closes.
func Distill(ctx workflow.Context, in contract.DistillInput) (contract.DistillResult, error) {
	if in.Timeouts == (contract.StepTimeouts{}) { // its configuration cannot be read, which the first step tells
		in.Timeouts = defaultTimeouts()
	}
	setDetails(ctx, "Asking the gate and dividing the conversation into tasks")
	chunked, err := execute[contract.ChunkResult](
		ctx, modelStep(in.Timeouts, "divide into tasks → model"), contract.Chunk, in.RunRef)
	if err == nil && !chunked.Ended {
		setDetails(ctx, "Distilling %d tasks, %d at once", len(chunked.Tasks), in.Timeouts.Tasks)
		err = distillTasks(ctx, in, chunked.Tasks)
	}
	setDetails(ctx, "Closing the run")
	return closeRun[contract.CloseInput, contract.DistillResult](
		ctx, in.Timeouts, contract.CloseRun, closeInput(in.RunRef, err), err)
}

// distillTasks runs a child for each task, StepTimeouts.Tasks at once. It fails only
// when it is cancelled: a child ends its own task, whatever happens in it.
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
	// Children are told of a cancellation and end their tasks; the run closes after them.
	detached, _ := workflow.NewDisconnectedContext(ctx)
	group.Wait(detached)
	return errors.Join(errs...)
}

// distillTask runs one task's child. After a reset of the parent the child may
// have run before: then what became of the task is read, not done again.
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
