package speed

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/internal/domain/access"
)

// Throughput is the rate of distillations under load and of empty workflows of the same shape.
type Throughput struct {
	Distillations int           `json:"distillations"`
	AtOnce        int           `json:"at_once"`
	Workspaces    int           `json:"workspaces"`
	PerSecond     float64       `json:"per_second"`
	Baseline      float64       `json:"baseline_per_second"` // empty workflows with one child and as many activities
	WorkerCPU     time.Duration `json:"worker_cpu_ns"`       // per distillation
}

// throughput distills many conversations in parallel and measures the worker.
func (b *bench) throughput(ctx context.Context, server string) (t Throughput, err error) {
	o := b.options
	t = Throughput{Distillations: o.Load, AtOnce: o.AtOnce, Workspaces: o.Workspaces}
	if err := distillScript(b.model, o.QuickCall); err != nil {
		return t, err
	}
	spaces := make([]access.Workspace, o.Workspaces)
	for i := range spaces {
		if spaces[i], err = b.host.Store.Workspace(ctx, fmt.Sprintf("load-%s-%d", server, i), true); err != nil {
			return t, err
		}
	}
	one := func(ctx context.Context, i int) error {
		r, err := b.distil(ctx, spaces[i%len(spaces)], oneTask(i), 1)
		if err != nil {
			return err
		}
		return b.host.Temporal.GetWorkflow(ctx, r.WorkflowID, "").Get(ctx, nil) // the workflow is part of the work
	}
	if _, err := together(ctx, 0, o.AtOnce, o.AtOnce, one); err != nil {
		return t, err
	}
	before, err := b.worker.CPU()
	if err != nil {
		return t, err
	}
	took, err := together(ctx, o.AtOnce, o.Load, o.AtOnce, one)
	if err != nil {
		return t, err
	}
	after, err := b.worker.CPU()
	if err != nil {
		return t, err
	}
	t.PerSecond = float64(o.Load) / took.Seconds()
	t.WorkerCPU = (after - before) / time.Duration(o.Load)
	t.Baseline, err = b.baseline(ctx)
	return t, err
}

// together calls one n times with numbers from first, at most atOnce calls at a time.
func together(ctx context.Context, first, n, atOnce int, one func(context.Context, int) error) (time.Duration, error) {
	started := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return one(ctx, first+i) })
	}
	err := group.Wait()
	return time.Since(started), err
}
