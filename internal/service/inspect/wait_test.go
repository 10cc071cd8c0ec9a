package inspect_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/service/inspect"
	"cairn/internal/testkit"
)

func TestAWaitEndsWithItsRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turn := b.asks("c", "m1", "How are you?").Run
	waiter := inspect.Waiter{Endings: b.Store}
	look := func() (run.Status, error) {
		got, err := b.runs.Progress(t.Context(), turn.Ref)
		return got.Status, err
	}
	over := make(chan error)
	go func() { over <- waiter.Await(t.Context(), turn.Ref.Run, nil, look) }()
	b.fails(turn.Ref)
	testkit.Must(t, <-over)
	if status, err := look(); err != nil || status != run.Ended {
		t.Errorf("the wait is over, and the run is %s, %v", status, err)
	}
	testkit.Must(t, waiter.Await(t.Context(), turn.Ref.Run, nil, look)) // which has ended before
}

// silent never notifies, and counts its subscriptions.
type silent struct{ waiting int }

func (s *silent) Ended(string) (<-chan struct{}, func()) {
	s.waiting++
	return nil, func() { s.waiting-- }
}

// Notifications may be lost, so Await polls every second.
func TestAWaitThatNobodyTellsLooksEachSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		endings, looks, began := &silent{}, 0, time.Now()
		err := inspect.Waiter{Endings: endings}.Await(t.Context(), "run_1", nil, func() (run.Status, error) {
			if looks++; looks < 3 {
				return run.Running, nil
			}
			return run.Ended, nil
		})
		if took := time.Since(began); err != nil || looks != 3 || took != 3*time.Second || endings.waiting != 0 {
			t.Errorf("%v after %d looks in %s; %d wait still", err, looks, took, endings.waiting)
		}
	})
}

func TestAWaitLooksAtOnceWhenItIsToldOtherwise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan struct{})
		close(told)
		looks, began := 0, time.Now()
		err := inspect.Waiter{Endings: &silent{}}.Await(t.Context(), "run_1", told, func() (run.Status, error) {
			if looks++; looks == 1 {
				if took := time.Since(began); took != 0 {
					t.Errorf("it looked after %s", took)
				}
				return run.Running, nil // it was told too early, and waits on
			}
			return run.Ended, nil
		})
		if took := time.Since(began); err != nil || looks != 2 || took != time.Second {
			t.Errorf("%v after %d looks in %s", err, looks, took)
		}
	})
}

func TestAWaitIsOverWhenItsCallerOrItsLookFails(t *testing.T) {
	t.Parallel()
	endings := &silent{}
	waiter := inspect.Waiter{Endings: endings}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := waiter.Await(ctx, "run_1", nil, func() (run.Status, error) { return run.Running, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	told := make(chan struct{})
	close(told)
	lost := errors.New("the database is away")
	err = waiter.Await(t.Context(), "run_1", told, func() (run.Status, error) { return "", lost })
	if !errors.Is(err, lost) || endings.waiting != 0 {
		t.Errorf("%v, %d wait still", err, endings.waiting)
	}
}
