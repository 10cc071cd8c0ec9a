package speed

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// bareQueue is the task queue of the bare workflows. This process serves it.
const bareQueue = "bench-bare"

// Kinds of cells.
const (
	Fast      = "add"        // an add with one model call
	Bare      = "bare"       // a workflow with one activity without effects
	BareLocal = "bare local" // the same with a local activity
)

// serveBare runs the worker of the bare workflows until stop is called.
func serveBare(c client.Client) (stop func(), err error) {
	w := worker.New(c, bareQueue, worker.Options{})
	wait := func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
	w.RegisterActivityWithOptions(wait, activity.RegisterOptions{Name: "Wait"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, d time.Duration) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		return workflow.ExecuteActivity(ctx, "Wait", d).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: Bare})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, d time.Duration) error {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
		return workflow.ExecuteLocalActivity(ctx, wait, d).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: BareLocal})
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("start the bare workflows' worker: %w", err)
	}
	return w.Stop, nil
}

// bare runs a bare workflow, whose activity waits, and returns its ID.
func (l *lab) bare(ctx context.Context, kind string, wait time.Duration) (id string, err error) {
	id = fmt.Sprintf("%s/%d", kind, l.serial.Add(1))
	run, err := l.temporalClient.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue,
		WorkflowTaskTimeout: contract.TaskTimeout, StaticSummary: "bare",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeWorkspace).ValueSet("bench"),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeKind).ValueSet("bare"),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeChannel).ValueSet(""),
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeConversation).ValueSet("0"))}, kind, wait)
	if err != nil {
		return id, fmt.Errorf("start a bare workflow: %w", err)
	}
	return id, run.Get(ctx, nil)
}
