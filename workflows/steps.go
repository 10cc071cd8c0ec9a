package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Steps of distillation: each is one activity with its options and the line
// that Temporal UI shows for it. No line holds a word of anybody's text.

// allScripts asks for every script of a task in one call; documents are
// numbered from 0.
const allScripts = -1

// defaultPace is used by workflows that do not know the pace of a run yet.
var defaultPace = contract.Pace{Database: 15 * time.Second, Heartbeat: 20 * time.Second, Model: 3 * time.Minute, GiveUp: 24 * time.Hour}

var errTooManyConflicts = temporal.NewNonRetryableApplicationError("the skill kept changing under the task", "version_conflict", nil)

func chunk(ctx workflow.Context, ref contract.RunRef, pace contract.Pace) (out contract.Chunked, err error) {
	ctx = model(ctx, pace, "divide into tasks → model")
	err = workflow.ExecuteActivity(ctx, contract.Chunk, ref).Get(ctx, &out)
	return out, err
}

// draft is two calls, the first of one sentence.
func draft(ctx workflow.Context, task contract.TaskRef) (out contract.Drafted, err error) {
	pace := task.Pace
	pace.Model *= 2
	ctx = model(ctx, pace, "recall known skills, draft → model, search, model")
	err = workflow.ExecuteActivity(ctx, contract.Draft, task).Get(ctx, &out)
	return out, err
}

func writeFile(ctx workflow.Context, task contract.TaskRef, doc int) error {
	summary := "write the scripts → model"
	if doc != allScripts {
		summary = fmt.Sprintf("write document %d → model", doc+1)
	}
	ctx = model(ctx, task.Pace, summary)
	return workflow.ExecuteActivity(ctx, contract.WriteFiles, contract.WriteInput{TaskRef: task, Doc: doc}).Get(ctx, nil)
}

// judge waits no longer than one step of a model may take: a skill goes on
// without a score sooner than that an opinion holds it back for a day.
func judge(ctx workflow.Context, task contract.TaskRef) error {
	pace := task.Pace
	pace.GiveUp = min(pace.GiveUp, pace.Model)
	ctx = model(ctx, pace, "judge the draft → model")
	return workflow.ExecuteActivity(ctx, contract.Judge, task).Get(ctx, nil)
}

func publish(ctx workflow.Context, task contract.TaskRef, round int) (out contract.Published, err error) {
	ctx = workflow.WithTaskQueue(database(ctx, task.Pace, fmt.Sprintf("render, zip, upload and commit, round %d", round)), contract.QueueBatch)
	err = workflow.ExecuteActivity(ctx, contract.Publish, task).Get(ctx, &out)
	return out, err
}

func merge(ctx workflow.Context, task contract.TaskRef, round int) error {
	ctx = model(ctx, task.Pace, fmt.Sprintf("merge with the head in force, round %d → model", round))
	return workflow.ExecuteActivity(ctx, contract.Merge, task).Get(ctx, nil)
}

// awaitTask waits for a task that another execution of its child works on.
func awaitTask(ctx workflow.Context, task contract.TaskRef) error {
	ctx = here(ctx, task.Pace, fmt.Sprintf("wait for task %d of %d", task.Position, task.Of))
	return workflow.ExecuteActivity(ctx, contract.AwaitTask, task).Get(ctx, nil)
}

// endTask makes the task's row say how it ended when no commit did, and returns
// what the row says. A cancelled task is ended too, and then reported cancelled.
func endTask(ctx workflow.Context, task contract.TaskRef, cause error) (out contract.TaskResult, err error) {
	code, reason := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	detached = here(detached, task.Pace, "end the task")
	err = workflow.ExecuteActivity(detached, contract.EndTask, contract.EndTaskInput{TaskRef: task, Code: code, Reason: reason}).Get(detached, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}

// closeRun makes the run's row say how it ended and returns what the row says.
// It is done for a cancelled run too, which is then reported as cancelled.
func closeRun(ctx workflow.Context, ref contract.RunRef, pace contract.Pace, cause error) (out contract.DistillResult, err error) {
	code, reason := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	detached = here(detached, pace, "close the run")
	err = workflow.ExecuteActivity(detached, contract.CloseRun, contract.CloseInput{RunRef: ref, Code: code, Reason: reason}).Get(detached, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}

// explain reduces an error to what a run's row keeps: a code and a reason.
func explain(err error) (code, reason string) {
	if err == nil {
		return "", ""
	}
	if temporal.IsCanceledError(err) {
		return "cancelled", "cancelled on request"
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type(), app.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return "unavailable", "a step did not finish in time: " + timeout.Message()
	}
	return "internal", err.Error()
}

// database is a step that is quick and safe to repeat.
func database(ctx workflow.Context, pace contract.Pace, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: contract.QueueMain, StartToCloseTimeout: pace.Database, ScheduleToCloseTimeout: pace.GiveUp, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second},
	})
}

// here is a database step on the queue of its workflow: the server hands it out
// with its answer to the workflow task that asked for it.
func here(ctx workflow.Context, pace contract.Pace, summary string) workflow.Context {
	return workflow.WithTaskQueue(database(ctx, pace, summary), workflow.GetInfo(ctx).TaskQueueName)
}

// model is a step that calls a model. How long a step is tried is bounded in
// time, not in attempts: an endpoint that is overloaded says when to come back.
func model(ctx workflow.Context, pace contract.Pace, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: contract.QueueLLM, StartToCloseTimeout: pace.Model, ScheduleToCloseTimeout: pace.GiveUp, HeartbeatTimeout: pace.Heartbeat, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
}
