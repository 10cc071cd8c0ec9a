package sweepbench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"cairn/internal/bench/ground"
	"cairn/internal/domain/contract"
)

//go:embed fill.sql
var fill string

//go:embed wrong.sql
var wrong string

// Dates of the sweeps: far from each other, so that each has its own workflows.
const (
	warmDate      = "2026-01-01"
	calmDate      = "2026-02-01"
	disturbedDate = "2026-03-01"
)

// warmPages are swept before anything is measured.
const warmPages = 4

// rows of a page, as many as the sweep's own, or fewer so that there are ten pages.
func (l *lab) rows() int { return min(4000, max(l.options.Workspaces/10, 1)) }

// abreast are the bare starts at once: as many as the sweep's.
const abreast = 16

// Run measures on servers of its own.
func Run(ctx context.Context, o Options) (Result, error) { return run(ctx, o, ground.Servers{}) }

func run(ctx context.Context, o Options, at ground.Servers) (out Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	l, err := openLab(ctx, o, at)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	out = Result{Workspaces: o.Workspaces, Talking: o.Workspaces / o.Talking}
	fmt.Fprintf(o.Log, "filling %d workspaces\n", o.Workspaces)
	if err := l.exec(ctx, fill, o.Workspaces, o.Talking); err != nil {
		return out, err
	}
	if err := l.exec(ctx, "analyze"); err != nil {
		return out, err
	}
	if err := l.measure(ctx, &out); err != nil {
		return out, err
	}
	if err := l.disturb(ctx, &out); err != nil {
		return out, err
	}
	return out, nil
}

// measure sweeps undisturbed, with bare starts before and after. Memory is watched
// from the sweep's start, just after the one to warm up: a worker at rest gives its
// memory back within seconds, and a first tenth of rest would call work a growth.
func (l *lab) measure(ctx context.Context, out *Result) error {
	before, err := l.bare(ctx, "before", out.Talking)
	if err != nil {
		return err
	}
	fmt.Fprintln(l.options.Log, "sweeping once to warm up")
	if err := l.makeDue(ctx, warmDate, min(warmPages*l.rows(), l.options.Workspaces)); err != nil {
		return err
	}
	if _, err := l.sweep(ctx, warmDate, nil); err != nil { // the worker's heap is then as it will be
		return err
	}
	if err := l.makeDue(ctx, calmDate, l.options.Workspaces); err != nil {
		return err
	}
	from := time.Now()
	memory := l.watchMemory(ctx)
	took, err := l.sweep(ctx, calmDate, nil)
	samples := memory()
	if err != nil {
		return err
	}
	after, err := l.bare(ctx, "after", out.Talking)
	if err != nil {
		return err
	}
	busy, started, err := l.startTimes(from)
	if err != nil {
		return err
	}
	out.Sweep, out.PerSecond = Seconds(took.Seconds()), float64(l.options.Workspaces)/took.Seconds()
	out.Starts, out.Overall = float64(started)/busy.Seconds(), float64(started)/took.Seconds()
	out.Bare = 2 / (1/before + 1/after) // as many starts in each: their time together
	out.Ratio = out.Starts / out.Bare
	out.First, out.Last, out.Growth = growth(samples)
	return l.count(ctx, calmDate, out)
}

// disturb sweeps another date while the worker is killed, evenly over it.
func (l *lab) disturb(ctx context.Context, out *Result) error {
	fmt.Fprintln(l.options.Log, "sweeping again, with kills")
	if err := l.makeDue(ctx, disturbedDate, l.options.Workspaces); err != nil {
		return err
	}
	took, err := l.sweep(ctx, disturbedDate, func(ctx context.Context) error {
		for kill := range l.options.Kills {
			if err := l.untilLeft(ctx, l.options.Workspaces*(l.options.Kills-kill)/(l.options.Kills+1)); err != nil {
				return err
			}
			l.worker.Kill()
			out.Kills++
			fmt.Fprintf(l.options.Log, "killed the worker, time %d\n", out.Kills)
			if err := l.startWorker(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.Disturbed = Seconds(took.Seconds())
	return l.count(ctx, disturbedDate, out)
}

// untilLeft waits until no more than so many tasks are due.
func (l *lab) untilLeft(ctx context.Context, most int) error {
	for {
		left, err := l.number(ctx, "select count(*) from scheduled_tasks where due_key = $1 and look_at <= now()",
			disturbedDate)
		if err != nil || left <= most {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// makeDue makes the reflection of a date due in so many workspaces.
func (l *lab) makeDue(ctx context.Context, date string, workspaces int) error {
	err := l.exec(ctx, `update scheduled_tasks t set paused_at = null, due_at = now() - interval '1 minute', `+
		`due_date = $1::date, due_key = $1, slot_key = null, slot_outcome = ''
from workspaces w where w.id = t.workspace_id and w.key like 'wbench%' and split_part(w.external_id, ' ', 2)::int `+
		`<= $2::int`, date, workspaces)
	if err != nil {
		return err
	}
	return l.exec(ctx, "vacuum analyze scheduled_tasks") // the update has left as many dead rows
}

// sweep returns how long the sweep of a date takes. Meanwhile runs beside it.
func (l *lab) sweep(ctx context.Context, date string, meanwhile func(context.Context) error) (time.Duration, error) {
	began := time.Now()
	w, err := l.host.Temporal.ExecuteWorkflow(ctx,
		client.StartWorkflowOptions{ID: "sweep-" + date, TaskQueue: contract.QueueMain,
			WorkflowTaskTimeout: contract.TaskTimeout}, contract.Sweep,
		contract.SweepInput{Pages: 5, Rows: l.rows(), Timeouts: contract.StepTimeouts{Heartbeat: 2 * time.Second}})
	if err != nil {
		return 0, fmt.Errorf("start the sweep: %w", err)
	}
	if meanwhile != nil {
		if err := meanwhile(ctx); err != nil {
			return 0, err
		}
	}
	var counts contract.SweepCounts
	if err := w.Get(ctx, &counts); err != nil {
		return 0, fmt.Errorf("wait for the sweep: %w", err)
	}
	fmt.Fprintf(l.options.Log, "swept %+v in %s\n", counts, time.Since(began).Round(time.Millisecond))
	return time.Since(began), nil
}

// bare starts so many reflections that no sweep has asked for, and returns how
// many in a second.
func (l *lab) bare(ctx context.Context, name string, n int) (float64, error) {
	var (
		next    atomic.Int64
		working sync.WaitGroup
		errs    = make([]error, abreast)
	)
	began := time.Now()
	for i := range abreast {
		working.Go(func() {
			for k := next.Add(1); k <= int64(n) && errs[i] == nil; k = next.Add(1) {
				_, errs[i] = l.host.Driver.Reflect(ctx,
					contract.ReflectionInput{Workspace: fmt.Sprintf("bare-%s-%d", name, k), Date: calmDate, Zone: "UTC",
						To: began, Why: contract.ReflectionOfSweep})
			}
		})
	}
	working.Wait()
	took := time.Since(began)
	fmt.Fprintf(l.options.Log, "%d bare starts in %s\n", n, took.Round(time.Millisecond))
	return float64(n) / took.Seconds(), errors.Join(errs...)
}

// count adds what is not as it must be after a sweep of a date.
func (l *lab) count(ctx context.Context, date string, out *Result) error {
	n, err := l.number(ctx, wrong, date, l.options.Talking)
	if err != nil {
		return err
	}
	out.Wrong += n
	started, err := l.reflections(ctx, date, out.Talking)
	if err != nil {
		return err
	}
	for i := l.options.Talking; i <= l.options.Workspaces; i += l.options.Talking {
		id := contract.ReflectionID(fmt.Sprintf("wbench%d", i), date)
		switch runs := started[id]; {
		case runs == 0:
			out.Missed++
		case runs > 1:
			out.Doubled++
		}
		delete(started, id)
	}
	out.Doubled += len(started) // of workspaces that have nothing to reflect on
	return nil
}

// shownAfter bounds the wait for Temporal's list to follow.
const shownAfter = 20 * time.Second

// reflections counts the runs of each workflow of a date, once as many are shown
// as there should be.
func (l *lab) reflections(ctx context.Context, date string, want int) (map[string]int, error) {
	for end := time.Now().Add(shownAfter); ; {
		out, runs := map[string]int{}, 0
		var token []byte
		for {
			page, err := l.host.Temporal.ListWorkflow(ctx,
				&workflowservice.ListWorkflowExecutionsRequest{
					Query: fmt.Sprintf("WorkflowType = '%s'", contract.ReflectionWorkflow), PageSize: 1000,
					NextPageToken: token})
			if err != nil {
				return nil, fmt.Errorf("list the reflections: %w", err)
			}
			for _, x := range page.Executions {
				if id := x.Execution.WorkflowId; len(id) > len(date) && id[len(id)-len(date):] == date &&
					id[:13] != "reflect/bare-" {
					out[id]++
					runs++
				}
			}
			if token = page.NextPageToken; len(token) == 0 {
				break
			}
		}
		if runs >= want || time.Now().After(end) {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
