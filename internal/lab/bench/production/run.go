package production

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/fault"
)

// step is a kind of fault or of attack, and what must hold. There are no steps 6, for an upgrade of the
// workers, and 8, for traces.
type step struct {
	Number int
	What   string
	run    func(context.Context, sheet) error
}

func (e *experiment) steps() []step {
	return []step{
		{1, "turns, distillation, search, reflection, dump and load through PgBouncer", e.work},
		{2, "the pooler drops the role; a login that inherits", e.roles},
		{3, "Temporal is away", e.withoutTemporal},
		{4, "Postgres becomes read-only and crashes; its replica is promoted", e.failover},
		{5, "a backup is restored onto the same Temporal", e.restores},
		{7, "SIGTERM to each gateway under load, behind a proxy that follows /readyz", e.drain},
		{9, "attacks on the edges", e.attacks},
	}
}

// Steps returns the numbers of all steps.
func Steps() (out []int) {
	for _, s := range new(experiment).steps() {
		out = append(out, s.Number)
	}
	return out
}

// Run runs the experiment. It returns an error if the experiment could not run. Violations are in the
// result, and so is a step that could not run to its end.
func Run(ctx context.Context, o Options) (Result, error) {
	for _, n := range o.Steps {
		if !slices.Contains(Steps(), n) {
			return Result{}, fault.New(fault.InvalidArgument, fmt.Sprintf("no step %d", n),
				fmt.Sprintf("use the steps %v", Steps()))
		}
	}
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	started := time.Now()
	e, err := open(ctx, o)
	if err != nil {
		return Result{}, err
	}
	for _, s := range e.steps() {
		if len(o.Steps) > 0 && !slices.Contains(o.Steps, s.Number) {
			continue
		}
		e.runStep(ctx, s)
	}
	e.result.Total = time.Since(started)
	if !e.result.Held() {
		e.result.Findings = append(e.result.Findings, e.keepLogs()...)
	}
	return e.result, errors.Join(ctx.Err(), e.close())
}

// runStep runs a step. Its processes are stopped at its end.
func (e *experiment) runStep(ctx context.Context, s step) {
	began := time.Now()
	e.say("step %d: %s", s.Number, s.What)
	to := sheet{e, s}
	err := ctx.Err()
	if err == nil {
		err = s.run(ctx, to)
	}
	e.stopProcesses()
	if err != nil {
		to.row(false, "the step runs to its end", "%.300s", err)
	}
	e.say("step %d took %.1f s", s.Number, time.Since(began).Seconds())
}
