package throttle_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/service/throttle"
)

func unknown(context.Context) error { return fault.New(fault.NotFound, "unknown", "") }

func known(context.Context) error { return nil }

// The clock of these tests is that of synctest.
func TestOnlyFailuresWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		th, began := throttle.New(), time.Now()
		for i := range 200 {
			if err := th.Look(t.Context(), "a", known); err != nil {
				t.Fatalf("valid secret %d: %v", i, err)
			}
		}
		for i := range throttle.Failures {
			if code := fault.CodeOf(th.Look(t.Context(), "a", unknown)); code != fault.NotFound {
				t.Fatalf("failure %d has the code %s", i, code)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s", waited)
		}
		err := th.Look(t.Context(), "a", unknown)
		if code := fault.CodeOf(err); code != fault.RateLimited || fault.From(err).RetryAfter <= 0 {
			t.Errorf("a failure above the limit returns %v", err)
		}
		if waited := time.Since(began); waited != throttle.Delay {
			t.Errorf("waited %s, want %s", waited, throttle.Delay)
		}
		began = time.Now()
		if err := th.Look(t.Context(), "a", known); err != nil {
			t.Errorf("a valid secret after failures: %v", err)
		}
		if code := fault.CodeOf(th.Look(t.Context(), "b", unknown)); code != fault.NotFound {
			t.Errorf("another caller gets %s", code)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("others waited %s", waited)
		}
	})
}

func TestLookupsAreBounded(t *testing.T) {
	t.Parallel()
	th := throttle.New()
	var now, most, ofOne atomic.Int64
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range 200 {
		all.Go(func() {
			_ = th.Look(t.Context(), fmt.Sprint(i%10), func(context.Context) error {
				n := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if i%10 == 0 {
					ofOne.Add(1)
				}
				<-gate
				return nil
			})
		})
	}
	close(gate)
	all.Wait()
	if most.Load() > 16 || ofOne.Load() != 20 {
		t.Errorf("%d at once, %d of one caller", most.Load(), ofOne.Load())
	}
}

// A caller with many attempts does not keep another one from being looked up.
func TestACallerDoesNotHoldAllLookups(t *testing.T) {
	t.Parallel()
	th, gate := throttle.New(), make(chan struct{})
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_ = th.Look(t.Context(), "many", func(context.Context) error {
				<-gate
				return nil
			})
		})
	}
	if err := th.Look(t.Context(), "one", known); err != nil {
		t.Error(err)
	}
	close(gate)
	all.Wait()
}

func TestACallerIsForgottenNotAll(t *testing.T) {
	t.Parallel()
	th := throttle.New()
	for range throttle.Failures {
		_ = th.Look(t.Context(), "guesser", unknown)
	}
	for i := range 20_000 { // the guesser goes on
		if i%1000 == 0 && th.Spent("guesser") == nil {
			t.Fatalf("the failures are forgotten after %d other callers", i)
		}
		_ = th.Look(t.Context(), fmt.Sprint(i), known)
	}
}
