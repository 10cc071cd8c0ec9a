// Package throttle slows down the guessing of keys, codes and cookies. A caller is known only by an address that it may
// share with others, so a valid secret is never refused because of failures: a secret is looked up first, and only the
// answer to an unknown one waits.
//
//	err := attempts.Look(ctx, address, func(ctx context.Context) error {
//		holder, err = keys.Principal(ctx, key) // NotFound counts as a failure
//		return err
//	})
package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"cairn/internal/domain/fault"
)

const (
	// Failures is the number of failures of a caller in a minute whose answers do not wait.
	Failures = 20
	window   = time.Minute
	// Delay is the time for which the answers to further failures wait.
	Delay = time.Second

	lookups       = 16     // at the same time, of all callers
	callerLookups = 8      // of one caller, so that another one is not behind all of its attempts
	delayed       = 1_000  // answers that wait at the same time; others do not wait
	callersKept   = 10_000 // those of the latest attempts
)

// Throttle counts the failures of callers in this process. It is safe for concurrent use.
type Throttle struct {
	looking, waiting *semaphore.Weighted

	mu      sync.Mutex // of callers, and of what they have failed
	callers *lru.Cache[string, *caller]
}

type caller struct {
	looking *semaphore.Weighted
	since   time.Time // the first failure of the present window
	failed  int
}

// New returns a Throttle without failures.
func New() *Throttle {
	callers, _ := lru.New[string, *caller](callersKept) // fails only for a size of 0
	return &Throttle{looking: semaphore.NewWeighted(lookups), waiting: semaphore.NewWeighted(delayed),
		callers: callers}
}

// Look calls look, which looks up a secret that the caller with the name from has sent. It waits while too many secrets
// are looked up. NotFound counts as a failure of the caller. A failure above the limit returns RateLimited after Delay.
func (t *Throttle) Look(ctx context.Context, from string, look func(context.Context) error) error {
	c := t.caller(from)
	err := t.bounded(ctx, c, look)
	if fault.CodeOf(err) != fault.NotFound {
		return err
	}
	wait := t.fail(c)
	if wait == 0 {
		return err
	}
	if t.waiting.TryAcquire(1) {
		defer t.waiting.Release(1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(Delay):
		}
	}
	return tooMany(wait)
}

// fail counts a failure. It returns how long the window lasts if the caller has none left.
func (t *Throttle) fail(c *caller) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if now.Sub(c.since) >= window {
		c.since, c.failed = now, 0
	}
	if c.failed >= Failures {
		return c.since.Add(window).Sub(now)
	}
	c.failed++
	return 0
}

// Spent reports whether a caller has no failure left that is answered at once. It is for callers who are known by more
// than an address, and who are refused because of their own failures only.
func (t *Throttle) Spent(from string) error {
	c := t.caller(from)
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait := time.Until(c.since.Add(window)); wait > 0 && c.failed >= Failures {
		return tooMany(wait)
	}
	return nil
}

func (t *Throttle) bounded(ctx context.Context, c *caller, look func(context.Context) error) error {
	if err := c.looking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.looking.Release(1)
	if err := t.looking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.looking.Release(1)
	return look(ctx)
}

func (t *Throttle) caller(from string) *caller {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, known := t.callers.Get(from)
	if !known {
		c = &caller{looking: semaphore.NewWeighted(callerLookups)}
		t.callers.Add(from, c)
	}
	return c
}

func tooMany(wait time.Duration) error {
	e := fault.New(fault.RateLimited,
		fmt.Sprintf("invalid key or code, and too many of them from this address: %d in a minute", Failures),
		"correct the key or code; a valid one is accepted at once")
	e.RetryAfter = wait
	return e
}
