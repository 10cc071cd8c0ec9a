package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"cairn/internal/lab/bench/audit"
)

// Run runs the experiment. It returns an error if the experiment could not run. Violations
// are in the result.
func Run(ctx context.Context, o Options) (Result, error) {
	o = o.withDefaults()
	started := time.Now()
	e, err := open(ctx, o, talks(o.Conversations, o.Turns, rand.New(rand.NewPCG(o.Seed, 0))))
	if err != nil {
		return Result{}, err
	}
	err = e.run(ctx)
	e.result.Total = time.Since(started)
	if !e.result.Held() || err != nil {
		e.result.Findings = append(e.result.Findings, e.KeepLog()...)
	}
	return e.result, errors.Join(err, e.Close())
}

func (e *experiment) run(ctx context.Context) error {
	o := e.options
	e.Say("seed %d · %d conversations of %d turns · worker killed every %s", o.Seed, o.Conversations, o.Turns,
		o.KillEvery)
	started := time.Now()
	err := e.converseAll(ctx)
	e.result.Answered = time.Since(started)
	e.Say("all messages have replies after %.1f s and %d kills", e.result.Answered.Seconds(), e.result.Kills)
	if err != nil {
		return err
	}
	e.worker = e.Supervise()
	defer e.worker.Stop()
	calmSince := time.Now()
	if err := e.each(ctx, e.end); err != nil {
		return err
	}
	_ = e.insist(
		ctx,
		askPatience,
		func(ctx context.Context) (bool, error) { // the audit finds workflows that did not end
			open, err := e.Audit.Number(ctx, "open_runs")
			return open == 0, err
		},
	)
	audit.AwaitClosed(ctx, e.App.Temporal, e.Stack.TemporalNamespace(), e.now)
	e.result.Drained = time.Since(calmSince)
	return e.count(ctx)
}

// converseAll runs all turns. With Options.Restore, the database is dumped after half of them and
// restored after some more, which are then sent again.
func (e *experiment) converseAll(ctx context.Context) error {
	all := e.options.Turns
	if !e.options.Restore {
		return e.underKills(ctx, func(ctx context.Context) error { return e.converse(ctx, 1, all) })
	}
	half, lost := all/2, min(all, all/2+max(1, all/4))
	dump := func(ctx context.Context) error {
		if err := e.converse(ctx, 1, half); err != nil {
			return err
		}
		if err := e.dump(ctx); err != nil {
			return err
		}
		return e.converse(ctx, half+1, lost)
	}
	if err := e.underKills(ctx, dump); err != nil {
		return err
	}
	if err := e.restore(ctx); err != nil {
		return err
	}
	return e.underKills(ctx, func(ctx context.Context) error { return e.converse(ctx, half+1, all) })
}

// underKills runs do while the worker is killed at intervals. Afterwards no worker runs.
func (e *experiment) underKills(ctx context.Context, do func(context.Context) error) error {
	e.worker = e.Supervise()
	defer e.worker.Stop()
	troubled, calm := context.WithCancel(ctx)
	defer calm()
	var trouble sync.WaitGroup
	trouble.Go(func() { e.worker.KillEvery(troubled, e.options.KillEvery, e.options.Kills) })
	trouble.Go(func() { e.tell(troubled) })
	err := do(ctx)
	calm()
	trouble.Wait()
	kills, exits := e.worker.Counts()
	e.result.Kills, e.result.Exits = e.result.Kills+kills, e.result.Exits+exits
	return err
}

// tell writes progress messages at intervals.
func (e *experiment) tell(ctx context.Context) {
	const often = 10 * time.Second
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if n, err := e.Audit.Number(ctx, "answered"); err == nil {
				e.Say("%d of %d turns done", n, e.options.Conversations*e.options.Turns)
			}
		}
	}
}
