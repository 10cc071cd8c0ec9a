package speed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// baselineQueue is the task queue of the empty workflows. This process serves it.
const baselineQueue = "bench-baseline"

// Names of the empty workflows and of their activity.
const (
	emptyParent = "EmptyDistill"
	emptyChild  = "EmptyDistillSkill"
	emptyStep   = "Empty"
)

// empty is the shape of an empty distillation.
type empty struct {
	Tasks int
	Call  time.Duration // wait of the steps that call models; other steps do nothing
}

// publishing is the last step of a task; it signals the end of the task.
const publishing = "EmptyPublish"

// serveEmpty runs the worker of the empty workflows until stop is called. It sends to
// published when a task has done its last step. At that point a distillation run has ended.
func (b *bench) serveEmpty(published chan<- struct{}) (stop func(), err error) {
	w := worker.New(b.host.Temporal, baselineQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(emptyDistill, workflow.RegisterOptions{Name: emptyParent})
	w.RegisterWorkflowWithOptions(emptyDistillSkill, workflow.RegisterOptions{Name: emptyChild})
	w.RegisterActivityWithOptions(func(_ context.Context, wait time.Duration) error {
		time.Sleep(wait)
		return nil
	}, activity.RegisterOptions{Name: emptyStep})
	w.RegisterActivityWithOptions(func(context.Context) error {
		if published != nil {
			published <- struct{}{}
		}
		return nil
	}, activity.RegisterOptions{Name: publishing})
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("start the baseline's worker: %w", err)
	}
	return w.Stop, nil
}

// startEmpty starts an empty distillation.
func (b *bench) startEmpty(ctx context.Context, id string, in empty) (client.WorkflowRun, error) {
	r, err := b.host.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: baselineQueue},
		emptyParent, in)
	if err != nil {
		return nil, fmt.Errorf("start an empty workflow: %w", err)
	}
	return r, nil
}

// floor returns the median time of sequential empty distillations of three tasks, whose steps
// only wait for the response time of the model. It ends when all tasks have done their last
// step. Time above the floor is Cairn's, time below it is Temporal's.
func (b *bench) floor(ctx context.Context) (time.Duration, error) {
	const tasks = 3
	published := make(chan struct{}, tasks)
	stop, err := b.serveEmpty(published)
	if err != nil {
		return 0, err
	}
	defer stop()
	var all []time.Duration
	for i := range distillWarmUp + b.options.Runs {
		started := time.Now()
		r, err := b.startEmpty(ctx, fmt.Sprintf("floor/%d", i), empty{Tasks: tasks, Call: b.options.Call})
		if err != nil {
			return 0, err
		}
		for range tasks {
			select {
			case <-published:
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		if i >= distillWarmUp {
			all = append(all, time.Since(started))
		}
		if err := r.Get(ctx, nil); err != nil {
			return 0, fmt.Errorf("await an empty workflow: %w", err)
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// baseline returns the throughput of empty distillations of one task, per second.
func (b *bench) baseline(ctx context.Context) (float64, error) {
	stop, err := b.serveEmpty(nil)
	if err != nil {
		return 0, err
	}
	defer stop()
	one := func(ctx context.Context, i int) error {
		r, err := b.startEmpty(ctx, fmt.Sprintf("empty/%d", i), empty{Tasks: 1})
		if err != nil {
			return err
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

// emptyDistill has the steps of Distill without effects: divide, a child for each task,
// close.
func emptyDistill(ctx workflow.Context, in empty) error {
	ctx = quick(ctx)
	if err := steps(ctx, in.Call); err != nil {
		return err
	}
	var children []workflow.Future
	for range in.Tasks {
		children = append(children, workflow.ExecuteChildWorkflow(ctx, emptyChild, in))
	}
	for _, child := range children {
		if err := child.Get(ctx, nil); err != nil {
			return err
		}
	}
	return steps(ctx, 0)
}

// emptyDistillSkill has the steps of DistillSkill without effects: draft, files, publish.
func emptyDistillSkill(ctx workflow.Context, in empty) error {
	ctx = quick(ctx)
	if err := steps(ctx, in.Call, in.Call); err != nil {
		return err
	}
	return workflow.ExecuteActivity(ctx, publishing).Get(ctx, nil)
}

// steps runs activities one after another, which wait for the given times.
func steps(ctx workflow.Context, waits ...time.Duration) error {
	for _, wait := range waits {
		if err := workflow.ExecuteActivity(ctx, emptyStep, wait).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func quick(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
}
