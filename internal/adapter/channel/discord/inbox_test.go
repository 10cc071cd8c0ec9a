package discord_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/channel/discord"
	"cairn/internal/domain/channel"
)

// inbox receives events as the service does: after an error it begins again from the last cursor.
type inbox struct {
	t    *testing.T
	stop func()

	mu     sync.Mutex
	events []channel.Event
	cursor string
	refuse func([]channel.Event) bool // nil accepts all
}

// receive receives until the test ends or stop is called.
func receive(t *testing.T, a *discord.Adapter, cursor string) *inbox {
	t.Helper()
	r := &inbox{t: t, cursor: cursor}
	r.run(a)
	return r
}

func (r *inbox) run(a *discord.Adapter) {
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			_ = a.Receive(ctx, r.saved(), r.accept) // begins again
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	})
	r.stop = func() {
		cancel()
		running.Wait()
	}
	r.t.Cleanup(r.stop)
}

func (r *inbox) saved() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cursor
}

func (r *inbox) accept(_ context.Context, events []channel.Event, cursor string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil && r.refuse(events) {
		return errors.New("refused")
	}
	r.events = append(r.events, events...)
	r.cursor = cursor
	return nil
}

func (r *inbox) all() []channel.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// await waits for an event.
func (r *inbox) await(what string, is func(channel.Event) bool) channel.Event {
	r.t.Helper()
	var found channel.Event
	until(r.t, what, func() bool {
		all := r.all()
		i := slices.IndexFunc(all, is)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s", what)
		}
	}
}

func (r *inbox) text(text string) channel.Event {
	r.t.Helper()
	return r.await(text, func(e channel.Event) bool { return e.Text == text })
}

// texts returns the texts of all events without repetitions.
func (r *inbox) texts() (all []string) {
	seen := map[string]bool{}
	for _, e := range r.all() {
		if !seen[e.Key] {
			all = append(all, e.Text)
		}
		seen[e.Key] = true
	}
	return all
}
