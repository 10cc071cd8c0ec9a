package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/lab/bench/audit"
)

// calmShare is the fraction of ended runs at which the kills stop. The other runs must end
// without further faults.
const calmShare = 0.95

// Run runs the experiment. It returns an error if the experiment could not run. Violations
// are in the result.
func Run(ctx context.Context, o Options) (Result, error) {
	o = o.withDefaults()
	started := time.Now()
	e, err := open(ctx, o)
	if err != nil {
		return Result{}, err
	}
	result, err := e.run(ctx)
	result.Total = time.Since(started)
	if !result.Held() || err != nil {
		result.Findings = append(result.Findings, e.KeepLog()...)
	}
	return result, errors.Join(err, e.Close())
}

func (e *experiment) run(ctx context.Context) (Result, error) {
	o := e.options
	wanted := requests(o.Distillations, o.Skills, e.draw)
	crashes := e.drawCrashes()
	e.Say("seed %d · %d distillations, %d skills · worker killed every %s", o.Seed, o.Distillations, o.Skills,
		o.KillEvery)

	e.worker = e.Supervise()
	defer e.worker.Stop()
	troubled, calm := context.WithCancel(ctx)
	defer calm()
	started := time.Now()
	var trouble, clients sync.WaitGroup
	trouble.Go(func() { e.worker.KillEvery(troubled, o.KillEvery, o.Kills) })
	crashed := make(chan struct{})
	trouble.Go(func() {
		defer close(crashed)
		e.crash(troubled, crashes)
	})
	clients.Go(func() {
		e.result.Refused = e.send(ctx, wanted)
		e.result.Accepted = time.Since(started)
		e.Say("all requests accepted after %.1f s", e.result.Accepted.Seconds())
	})
	err := e.awaitEnded(ctx, int(calmShare*float64(o.Distillations)), time.Duration(o.Kills)*o.KillEvery+o.Patience)
	clients.Wait()
	select {
	case <-crashed:
	case <-ctx.Done():
	case <-time.After(o.Patience): // too few runs have ended
	}
	calm()
	trouble.Wait()
	e.result.Kills, e.result.Exits = e.worker.Counts()
	e.result.Troubled = time.Since(started)
	e.Say("faults ended after %.1f s and %d kills", e.result.Troubled.Seconds(), e.result.Kills)
	if err != nil {
		return e.result, err
	}
	calmSince := time.Now()
	if err := e.awaitEnded(ctx, o.Distillations-len(e.result.Refused), o.Patience); err != nil {
		return e.result, err
	}
	audit.AwaitClosed(ctx, e.App.Temporal, e.Stack.TemporalNamespace(), 1)
	e.result.Drained = time.Since(calmSince)
	return e.result, e.count(ctx, wanted)
}

// look is the poll interval.
const look = 100 * time.Millisecond

// awaitEnded waits until n runs have ended or patience is over. The audit reports runs that
// have not ended.
func (e *experiment) awaitEnded(ctx context.Context, n int, patience time.Duration) error {
	over := time.After(patience)
	for {
		if ended, err := e.ended(ctx); err == nil && ended >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fault.Wrap(ctx.Err(), fault.Cancelled, "experiment interrupted", "")
		case <-over:
			e.Say("fewer than %d runs have ended after %s", n, patience)
			return nil
		case <-time.After(look):
		}
	}
}

// ended returns the number of ended runs. It fails while Postgres is down.
func (e *experiment) ended(ctx context.Context) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err = e.Audit.QueryRow(ctx, e.Audit.Text("ended")).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the ended runs: %w", err)
	}
	return n, nil
}
