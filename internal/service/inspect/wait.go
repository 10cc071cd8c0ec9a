package inspect

import (
	"context"
	"time"

	"cairn/internal/domain/run"
)

// pollInterval is how often whoever waits for a run looks at it, told or not.
const pollInterval = time.Second

// Endings tells of runs that have ended.
type Endings interface {
	// Ended is closed when the run ends; stop is called when nobody waits any more.
	Ended(id int64) (ended <-chan struct{}, stop func())
}

// Waiter waits for runs.
type Waiter struct{ Endings Endings }

// Await returns when look says that a run has ended, fails with its error, or with
// ctx's. It looks when the database tells of the run's end, when told is closed,
// if anything else may tell of it, and from time to time, should their words be
// lost.
func (w Waiter) Await(ctx context.Context, id int64, told <-chan struct{}, look func() (run.Status, error)) error {
	ended, stop := w.Endings.Ended(id)
	defer stop()
	again := time.NewTicker(pollInterval)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-told:
			told = nil
		case <-ended:
		case <-again.C:
		}
		if status, err := look(); err != nil || status == run.Ended {
			return err
		}
	}
}
