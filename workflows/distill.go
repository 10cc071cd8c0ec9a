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
	pace, form := in.Pace, workflow.DefaultVersion
	if pace != (contract.Pace{}) {
		form = workflow.GetVersion(ctx, formOfDistill, workflow.DefaultVersion, draftsAtOnce)
	}
	if form < opensWhenDividing {
		story.tell("Opening the run and asking the gate")
		pace = firstPace(in)
		opened, err := openRun(ctx, in.RunRef, pace)
		if err != nil {
			return closeRun(ctx, in.RunRef, pace, err)
		}
		if pace = opened.Pace; opened.Ended {
			return closeRun(ctx, in.RunRef, pace, nil)
		}
	}

	story.tell("Asking the gate and dividing the conversation into tasks")
	chunked, err := chunk(ctx, in.RunRef, pace)
	if err != nil || chunked.Ended {
		return closeRun(ctx, in.RunRef, pace, err)
	}

	story.tell(fmt.Sprintf("Distilling %d tasks, %d at once", len(chunked.Tasks), pace.Tasks))
	child := contract.DistillSkill
	if form < draftsAtOnce {
		child = contract.DistillTask
	}
	err = distillTasks(ctx, in, pace, child, chunked.Tasks)

	story.tell("Closing the run")
	return closeRun(ctx, in.RunRef, pace, err)
}

// Forms of runs, by the marker that newer ones leave. Older ones have no marker, a
// step to open them and one to divide, and learn their pace from the first.
const (
	formOfDistill                      = "open-with-chunk"
	opensWhenDividing workflow.Version = 1 // in one step
	draftsAtOnce      workflow.Version = 2 // their tasks are DistillSkill
)

// distillTasks runs a child for each task, Pace.Tasks at once. It fails only
// when it is cancelled: a child ends its own task, whatever happens in it.
func distillTasks(ctx workflow.Context, in contract.DistillInput, pace contract.Pace, child string, tasks []string) error {
	places := workflow.NewSemaphore(ctx, int64(max(pace.Tasks, 1)))
	group := workflow.NewWaitGroup(ctx)
	errs := make([]error, len(tasks))
	for i, key := range tasks {
		if err := places.Acquire(ctx, 1); err != nil {
			errs[i] = err
			break
		}
		group.Add(1)
		task := contract.TaskRef{RunRef: in.RunRef, Task: key, Position: i + 1, Of: len(tasks), Pace: pace}
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			defer places.Release(1)
			errs[i] = distillChild(ctx, in.WorkflowID, child, task)
		})
	}
	// Children are told of a cancellation and end their tasks; the run closes after them.
	detached, _ := workflow.NewDisconnectedContext(ctx)
	group.Wait(detached)
	return errors.Join(errs...)
}

// distillChild runs one task's child. After a reset of the parent the child may
// have run before: then what became of the task is read, not done again.
func distillChild(ctx workflow.Context, parent, child string, task contract.TaskRef) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            parent + "/" + task.Task,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WaitForCancellation:   true,
		WorkflowTaskTimeout:   contract.TaskTimeout,
		StaticSummary:         fmt.Sprintf("task %d of %d", task.Position, task.Of),
		TypedSearchAttributes: inherited(ctx),
	})
	err := workflow.ExecuteChildWorkflow(ctx, child, task).Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return awaitTask(ctx, task)
	}
	return err
}
