package store_test

import (
	"context"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// A broken connection is a temporary failure, wherever in a transaction it breaks: a paid reply is
// held for that case.
func TestABrokenConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	proxy, url := testkit.DatabaseProxy(t, b.url)
	s, err := store.Open(t.Context(), url, store.Options{MaxConns: 1})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	for name, fn := range map[string]func(context.Context, store.Tx) error{
		"in a statement": func(ctx context.Context, q store.Tx) error {
			proxy.Cut()
			_, err := q.Workspaces().Settings(ctx)
			return err
		},
		"in the commit": func(context.Context, store.Tx) error {
			proxy.Cut()
			return nil
		},
	} {
		err := s.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
			return fn(t.Context(), q)
		})
		if fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: %v, want %s", name, err, fault.Unavailable)
		}
		if err := s.InWorkspace(t.Context(), b.a.ID, func(context.Context, store.Tx) error {
			return nil
		}); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: the next transaction: %v, want %s", name, err, fault.Unavailable)
		}
		proxy.Restore()
		if err := s.InWorkspace(t.Context(), b.a.ID, func(context.Context, store.Tx) error {
			return nil
		}); err != nil {
			t.Errorf("%s: after it: %v", name, err)
		}
	}
}

// A transaction with a failed statement is never committed, even if the error was ignored, and its
// connection serves the next one.
func TestASwallowedFailureCommitsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *store.Options) { o.MaxConns = 1 })
	err := b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
		if err := q.Outbox().Enqueue(t.Context(), outbox.DriveRun, "1", 0); err != nil {
			return err
		}
		if _, err := q.Astray(b.b.ID).Runs().RunSpec(t.Context(), "run_1"); err == nil { // finds nothing, fails nothing
			t.Error("a run that is not there was found")
		}
		if err := q.Astray(b.b.ID).Outbox().Enqueue(t.Context(), outbox.DriveRun, "1", 0); sqlState(err) != "42501" {
			t.Errorf("a row of another workspace was written: %v", err)
		}
		return nil
	})
	if err == nil {
		t.Error("the commit was reported done")
	}
	if n := b.number("select count(*) from outbox"); n != 0 {
		t.Errorf("%d rows, want none", n)
	}
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		return q.Outbox().Enqueue(ctx, outbox.DriveRun, "2", 0)
	})
	if n := b.number("select count(*) from outbox"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}
