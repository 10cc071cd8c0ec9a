package inspect

import (
	"context"
	"time"

	"cairn/internal/domain/run"
)

// pollInterval is the time between two polls of a run, in addition to notifications.
const pollInterval = time.Second

// Endings notifies about runs that have ended.
type Endings interface {
	// Ended returns a channel that is closed when the run ends. Call stop to end the subscription.
	Ended(id string) (ended <-chan struct{}, stop func())
}

// Waiter waits for runs.
type Waiter struct{ Endings Endings }

// Await returns when look reports that the run has ended. It fails with the error of look or ctx.
// It calls look when the database notifies about the end, when told is closed, and every
// pollInterval in case a notification is lost.
func (w Waiter) Await(ctx context.Context, id string, told <-chan struct{}, look func() (run.Status, error)) error {
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
