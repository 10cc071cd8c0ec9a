package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// databaseStep is a step that is quick and safe to repeat.
func databaseStep(timeouts contract.StepTimeouts, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: contract.QueueMain, Summary: summary,
		StartToCloseTimeout: timeouts.Database, ScheduleToCloseTimeout: timeouts.GiveUp,
		RetryPolicy: quickRetry(),
	}
}

// modelStep is a step that calls a model. How long it is tried is bounded in time,
// not in attempts: an endpoint that is overloaded says when to come back.
func modelStep(timeouts contract.StepTimeouts, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: contract.QueueLLM, Summary: summary,
		StartToCloseTimeout: timeouts.Model, ScheduleToCloseTimeout: timeouts.GiveUp,
		HeartbeatTimeout: timeouts.Heartbeat,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
	}
}

// batchStep is a step that computes for long, or asks a model many times.
func batchStep(timeouts contract.StepTimeouts, summary string) workflow.ActivityOptions {
	options := modelStep(timeouts, summary)
	options.TaskQueue, options.StartToCloseTimeout = contract.QueueBatch, timeouts.GiveUp
	return options
}

// onWorkflowQueue puts a step on the queue of its workflow: the server hands it out
// with its answer to the workflow task that asked for it.
func onWorkflowQueue(ctx workflow.Context, options workflow.ActivityOptions) workflow.ActivityOptions {
	return onQueue(workflow.GetInfo(ctx).TaskQueueName, options)
}

func onQueue(queue string, options workflow.ActivityOptions) workflow.ActivityOptions {
	options.TaskQueue = queue
	return options
}

// quickRetry tries again soon: what fails is a database that is away for a moment.
func quickRetry() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
	}
}

// polling asks every second, for as long as patience lasts.
func polling(options workflow.ActivityOptions, patience time.Duration) workflow.ActivityOptions {
	options.RetryPolicy.MaximumInterval, options.ScheduleToCloseTimeout = time.Second, patience
	return options
}

// defaultTimeouts are those of workflows that do not know the ones of a run yet.
func defaultTimeouts() contract.StepTimeouts {
	return contract.StepTimeouts{
		Database: 15 * time.Second, Heartbeat: 20 * time.Second, Model: 3 * time.Minute, GiveUp: 24 * time.Hour,
	}
}

// execute runs an activity and returns its result.
func execute[R any](
	ctx workflow.Context, options workflow.ActivityOptions, activity string, in any,
) (out R, err error) {
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, in).Get(ctx, &out)
	return out, err
}

// perform runs an activity that has no result, or whose result is of no interest.
func perform(ctx workflow.Context, options workflow.ActivityOptions, activity string, in any) error {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, in).Get(ctx, nil)
}
