package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// databaseStep returns the options of a fast, idempotent step.
func databaseStep(timeouts contract.StepTimeouts, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: contract.QueueMain, Summary: summary,
		StartToCloseTimeout: timeouts.Database, ScheduleToCloseTimeout: timeouts.GiveUp,
		RetryPolicy: quickRetry(),
	}
}

// modelStep returns the options of a step that calls a model. It is limited by time, not by
// attempts: an overloaded endpoint states when to retry.
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

// batchStep returns the options of a step that computes for a long time, or makes many model calls.
func batchStep(timeouts contract.StepTimeouts, summary string) workflow.ActivityOptions {
	options := modelStep(timeouts, summary)
	options.TaskQueue, options.StartToCloseTimeout = contract.QueueBatch, timeouts.GiveUp
	return options
}

// onWorkflowQueue schedules a step on the queue of its workflow. The server then returns it with
// the completion of the workflow task that scheduled it.
func onWorkflowQueue(ctx workflow.Context, options workflow.ActivityOptions) workflow.ActivityOptions {
	return onQueue(workflow.GetInfo(ctx).TaskQueueName, options)
}

func onQueue(queue string, options workflow.ActivityOptions) workflow.ActivityOptions {
	options.TaskQueue = queue
	return options
}

// quickRetry retries soon, for a database that is briefly unavailable.
func quickRetry() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
	}
}

// polling retries every second until patience has passed.
func polling(options workflow.ActivityOptions, patience time.Duration) workflow.ActivityOptions {
	options.RetryPolicy.MaximumInterval, options.ScheduleToCloseTimeout = time.Second, patience
	return options
}

// defaultTimeouts returns the timeouts of workflows that do not have those of a run yet.
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

// perform runs an activity without a result, or ignores its result.
func perform(ctx workflow.Context, options workflow.ActivityOptions, activity string, in any) error {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, in).Get(ctx, nil)
}
