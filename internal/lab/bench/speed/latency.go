package speed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/run"
)

// Latency holds the times of distillations of three tasks and their ratio to the critical
// path.
type Latency struct {
	Runs     int           `json:"runs"`
	Critical time.Duration `json:"critical_ns"`
	Median   time.Duration `json:"median_ns"`
	Least    time.Duration `json:"least_ns"`
	Most     time.Duration `json:"most_ns"`
	// median of empty workflows of the same shape that wait as long as the model
	Floor   time.Duration `json:"floor_ns"`
	Steps   []Step        `json:"steps"`             // steps of the median run
	Slowest []Step        `json:"slowest,omitempty"` // steps of the slowest run, if it is an outlier
}

// Ratio is d divided by the critical path.
func (l Latency) Ratio(d time.Duration) float64 { return float64(d) / float64(l.Critical) }

// farOff is the multiple of the median from which a run is an outlier.
const farOff = 2

// measured is one distillation.
type measured struct {
	run  run.Run
	took time.Duration
}

// latency distills conversations one after another, each in its own workspace, so that each
// creates its skills. The next starts when the workflow of the previous one has ended, which
// is a moment after its run.
func (b *bench) latency(ctx context.Context, server string) (Latency, error) {
	if err := distillScript(b.model, b.options.Call); err != nil {
		return Latency{}, err
	}
	var all []measured
	for i := range distillWarmUp + b.options.Runs {
		n := b.next()
		ws, err := b.host.Store.Workspace(ctx, fmt.Sprintf("latency-%s-%d", server, n), true)
		if err != nil {
			return Latency{}, err
		}
		c := threeTasks(n)
		started := time.Now()
		r, err := b.distil(ctx, ws, c, 3)
		if err != nil {
			return Latency{}, err
		}
		if i >= distillWarmUp {
			all = append(all, measured{r, time.Since(started)})
		}
		if err := b.host.Temporal.GetWorkflow(ctx, r.WorkflowID, "").Get(ctx, nil); err != nil {
			return Latency{}, fmt.Errorf("await the workflow of %s: %w", c.ID, err)
		}
	}
	slices.SortFunc(all, func(a, b measured) int { return int(a.took - b.took) })
	middle := all[len(all)/2]
	out := Latency{Runs: len(all), Critical: critical * b.options.Call, Median: middle.took, Least: all[0].took,
		Most: all[len(all)-1].took}
	var err error
	if out.Floor, err = b.floor(ctx); err != nil {
		return out, err
	}
	if out.Steps, err = b.steps(ctx, middle.run); err != nil || out.Most < farOff*out.Median {
		return out, err
	}
	out.Slowest, err = b.steps(ctx, all[len(all)-1].run)
	return out, err
}
