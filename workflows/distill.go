// Package workflows says what happens, in order. A workflow's history carries
// ids and counts; what the ids stand for is in Postgres.
package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Distill turns one conversation into skills: gate and divide into tasks, one child
// for each task, and close the run. A task that fails is an outcome of that task;
// the run itself always closes.
func Distill(ctx workflow.Context, in contract.DistillInput) (contract.DistillResult, error) {
	story := newStory(ctx)
	if in.Pace == (contract.Pace{}) { // its configuration cannot be read, which the first step tells
		in.Pace = defaultPace
	}
	story.tell("Asking the gate and dividing the conversation into tasks")
	chunked, err := chunk(ctx, in.RunRef, in.Pace)
	if err != nil || chunked.Ended {
		return closeRun(ctx, in.RunRef, in.Pace, err)
	}

	story.tell(fmt.Sprintf("Distilling %d tasks, %d at once", len(chunked.Tasks), in.Pace.Tasks))
	err = distillTasks(ctx, in, chunked.Tasks)

	story.tell("Closing the run")
	return closeRun(ctx, in.RunRef, in.Pace, err)
}

// distillTasks runs a child for each task, Pace.Tasks at once. It fails only
// when it is cancelled: a child ends its own task, whatever happens in it.
func distillTasks(ctx workflow.Context, in contract.DistillInput, tasks []string) error {
	places := workflow.NewSemaphore(ctx, int64(max(in.Pace.Tasks, 1)))
	group := workflow.NewWaitGroup(ctx)
	errs := make([]error, len(tasks))
	for i, key := range tasks {
		if err := places.Acquire(ctx, 1); err != nil {
			errs[i] = err
			break
		}
		group.Add(1)
		task := contract.TaskRef{RunRef: in.RunRef, Task: key, Position: i + 1, Of: len(tasks), Pace: in.Pace}
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			defer places.Release(1)
			errs[i] = distillChild(ctx, in.WorkflowID, task)
		})
	}
	// Children are told of a cancellation and end their tasks; the run closes after them.
	detached, _ := workflow.NewDisconnectedContext(ctx)
	group.Wait(detached)
	return errors.Join(errs...)
}

// distillChild runs one task's child. After a reset of the parent the child may
// have run before: then what became of the task is read, not done again.
func distillChild(ctx workflow.Context, parent string, task contract.TaskRef) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            parent + "/" + task.Task,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WaitForCancellation:   true,
		WorkflowTaskTimeout:   contract.TaskTimeout,
		StaticSummary:         fmt.Sprintf("task %d of %d", task.Position, task.Of),
		TypedSearchAttributes: inherited(ctx),
	})
	err := workflow.ExecuteChildWorkflow(ctx, contract.DistillSkill, task).Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return awaitTask(ctx, task)
	}
	return err
}
