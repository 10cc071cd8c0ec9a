package speed

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

	"cairn/internal/domain/contract"
	"cairn/internal/lab/bench/ground"
)

//go:embed fill.sql
var fill string

//go:embed wrong.sql
var wrong string

// Dates of the sweeps. They are different, so each sweep has its own workflows.
const (
	warmDate      = "2026-01-01"
	calmDate      = "2026-02-01"
	disturbedDate = "2026-03-01"
)

// warmPages is the number of pages that are swept before the measurement.
const warmPages = 4

// rows is the page size: that of the sweep, or less to get ten pages.
func (l *sweepLab) rows() int { return min(4000, max(l.options.Workspaces/10, 1)) }

// abreast is the number of parallel bare starts, the same as in the sweep.
const abreast = 16

// RunSweeps measures the sweep over many workspaces whose daily reflection is due at
// the same time and of which few have conversations.
//
// It starts its own servers and a worker in a separate process, which runs the real Sweep and
// a Reflection without effects. The first sweep is undisturbed and measures the rates and the
// worker's memory, with bare starts of the same workflow before and after. The second sweep
// uses another date, and the worker is killed meanwhile. Then it counts missed and duplicated
// reflections.
func RunSweeps(ctx context.Context, o SweepOptions) (SweepResult, error) {
	return runSweep(ctx, o, ground.Servers{})
}

func runSweep(ctx context.Context, o SweepOptions, at ground.Servers) (out SweepResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	l, err := sweepOpenLab(ctx, o, at)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	out = SweepResult{Workspaces: o.Workspaces, Talking: o.Workspaces / o.Talking}
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

// measure runs an undisturbed sweep with bare starts before and after. It samples memory from
// the start of the sweep, directly after the warm-up. An idle worker releases memory within
// seconds, so samples before the sweep would make normal use look like growth.
func (l *sweepLab) measure(ctx context.Context, out *SweepResult) error {
	before, err := l.bare(ctx, "before", out.Talking)
	if err != nil {
		return err
	}
	fmt.Fprintln(l.options.Log, "sweeping once to warm up")
	if err := l.makeDue(ctx, warmDate, min(warmPages*l.rows(), l.options.Workspaces)); err != nil {
		return err
	}
	if _, err := l.sweep(ctx, warmDate, nil); err != nil { // grows the worker's heap to its usual size
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
	out.Bare = 2 / (1/before + 1/after) // harmonic mean, since both have the same number of starts
	out.Ratio = out.Starts / out.Bare
	out.First, out.Last, out.Growth = growth(samples)
	return l.count(ctx, calmDate, out)
}

// disturb sweeps another date while the worker is killed at even intervals.
func (l *sweepLab) disturb(ctx context.Context, out *SweepResult) error {
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
			fmt.Fprintf(l.options.Log, "killed the worker (%d)\n", out.Kills)
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

// untilLeft waits until at most this many tasks are due.
func (l *sweepLab) untilLeft(ctx context.Context, most int) error {
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

// makeDue makes the reflection of a date due in a number of workspaces.
func (l *sweepLab) makeDue(ctx context.Context, date string, workspaces int) error {
	err := l.exec(ctx, `update scheduled_tasks t set paused_at = null, due_at = now() - interval '1 minute', `+
		`due_date = $1::date, due_key = $1, slot_key = null, slot_outcome = ''
from workspaces w where w.id = t.workspace_id and w.key like 'wbench%' and split_part(w.external_id, ' ', 2)::int `+
		`<= $2::int`, date, workspaces)
	if err != nil {
		return err
	}
	return l.exec(ctx, "vacuum analyze scheduled_tasks") // removes the dead rows of the update
}

// sweep returns the duration of the sweep of a date. It calls meanwhile during the sweep.
func (l *sweepLab) sweep(ctx context.Context, date string, meanwhile func(context.Context) error) (time.Duration,
	error) {
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

// bare starts n reflections without a sweep and returns the starts per second.
func (l *sweepLab) bare(ctx context.Context, name string, n int) (float64, error) {
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

// count adds missed, duplicated and wrong entries after the sweep of a date.
func (l *sweepLab) count(ctx context.Context, date string, out *SweepResult) error {
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
	out.Doubled += len(started) // these workspaces have no messages
	return nil
}

// shownAfter bounds the wait for Temporal's visibility list.
const shownAfter = 20 * time.Second

// reflections returns the number of runs of each workflow of a date, when the list has as many
// as expected.
func (l *sweepLab) reflections(ctx context.Context, date string, want int) (map[string]int, error) {
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
