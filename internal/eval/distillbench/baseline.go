package distillbench

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// baselineQueue is served by this process; nothing there waits for anything.
const baselineQueue = "bench-baseline"

// Names of the empty workflows and of their one activity.
const (
	emptyParent = "EmptyDistill"
	emptyChild  = "EmptyDistillTask"
	emptyStep   = "Empty"
)

// baseline is how many empty workflows a second the server carries: a parent
// with three activities and a child with six, two of them at once, as a
// distillation of one task has.
func (b *bench) baseline(ctx context.Context) (float64, error) {
	w := worker.New(b.host.Temporal, baselineQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(emptyDistill, workflow.RegisterOptions{Name: emptyParent})
	w.RegisterWorkflowWithOptions(emptyDistillTask, workflow.RegisterOptions{Name: emptyChild})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: emptyStep})
	if err := w.Start(); err != nil {
		return 0, fmt.Errorf("start the baseline's worker: %w", err)
	}
	defer w.Stop()
	session := time.Now().UnixNano()
	one := func(ctx context.Context, i int) error {
		r, err := b.host.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: fmt.Sprintf("empty/%d/%d", session, i), TaskQueue: baselineQueue}, emptyParent)
		if err != nil {
			return fmt.Errorf("start an empty workflow: %w", err)
		}
		return r.Get(ctx, nil)
	}
	if _, err := together(ctx, 0, b.options.AtOnce, b.options.AtOnce, one); err != nil {
		return 0, err
	}
	took, err := together(ctx, b.options.AtOnce, b.options.Load, b.options.AtOnce, one)
	if err != nil {
		return 0, err
	}
	return float64(b.options.Load) / took.Seconds(), nil
}

// emptyDistill is Distill without anything to do: open, divide, a child, close.
func emptyDistill(ctx workflow.Context) error {
	ctx = quick(ctx)
	for range 2 {
		if err := workflow.ExecuteActivity(ctx, emptyStep).Get(ctx, nil); err != nil {
			return err
		}
	}
	if err := workflow.ExecuteChildWorkflow(ctx, emptyChild).Get(ctx, nil); err != nil {
		return err
	}
	return workflow.ExecuteActivity(ctx, emptyStep).Get(ctx, nil)
}

// emptyDistillTask is DistillTask without anything to do: recall, extract, two
// files at once, package, commit.
func emptyDistillTask(ctx workflow.Context) error {
	ctx = quick(ctx)
	for range 2 {
		if err := workflow.ExecuteActivity(ctx, emptyStep).Get(ctx, nil); err != nil {
			return err
		}
	}
	script, document := workflow.ExecuteActivity(ctx, emptyStep), workflow.ExecuteActivity(ctx, emptyStep)
	for _, file := range []workflow.Future{script, document} {
		if err := file.Get(ctx, nil); err != nil {
			return err
		}
	}
	for range 2 {
		if err := workflow.ExecuteActivity(ctx, emptyStep).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func quick(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
}
