package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"cairn/internal/bench/audit"
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
	e.worker = e.Supervise()
	defer e.worker.Stop()
	troubled, calm := context.WithCancel(ctx)
	defer calm()
	started := time.Now()
	var trouble sync.WaitGroup
	trouble.Go(func() { e.worker.KillEvery(troubled, o.KillEvery, o.Kills) })
	trouble.Go(func() { e.tell(troubled) })
	err := e.converse(ctx)
	calm()
	trouble.Wait()
	e.result.Kills, e.result.Exits = e.worker.Counts()
	e.result.Answered = time.Since(started)
	e.Say("all messages have replies after %.1f s and %d kills", e.result.Answered.Seconds(), e.result.Kills)
	if err != nil {
		return err
	}
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
	audit.AwaitClosed(ctx, e.App.Temporal, e.Stack.TemporalNamespace())
	e.result.Drained = time.Since(calmSince)
	return e.count(ctx)
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
