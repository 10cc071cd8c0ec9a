package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// told waits for the notification of a run's end.
func told(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("no notification of the end")
	}
}

// ears counts the connections that listen for ends.
func (b *bundle) ears() int {
	return b.number("select count(*) from pg_stat_activity where datname = current_database() " +
		"and query like 'listen cairn_ended%'")
}

func TestWhoWaitsForARunIsToldOfItsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	accept := func(key string) string {
		r, _ := b.accept(b.wish(key, "text"))
		return r.Ref.Run
	}
	end := func(id string, also error) error {
		return b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
			return errors.Join(q.Runs().EndRun(t.Context(), id, run.Completed, "", nil), also)
		})
	}
	first, second := accept("first"), accept("second")
	undone, stop := b.Ended(first)
	defer stop()
	one, stopOne := b.Ended(second)
	defer stopOne()
	two, stopTwo := b.Ended(second)
	defer stopTwo()
	for _, c := range []<-chan struct{}{undone, one, two} {
		told(t, c) // sent when listening starts, because the run may have ended before
	}

	if err := end(first, fault.New(fault.Unavailable, "not yet", "")); fault.CodeOf(err) != fault.Unavailable {
		t.Fatalf("the transaction came to %v", err)
	}
	testkit.Must(t, end(second, nil))
	told(t, one)
	told(t, two)
	select { // notifications arrive in the order of the commits
	case <-undone:
		t.Error("an end was told that was rolled back")
	default:
	}
}

func TestAConnectionThatHearsIsMadeAgain(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	if n := b.ears(); n != 0 {
		t.Errorf("%d connections listen without waiting callers", n)
	}
	ended, stop := b.Ended("run_1")
	told(t, ended)
	b.exec("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() " +
		"and query like 'listen cairn_ended%'")
	told(t, ended) // it may have ended meanwhile
	stop()
	again, stop := b.Ended("run_2")
	defer stop()
	b.exec("select pg_notify('cairn_ended', 'no run'), pg_notify('cairn_ended', 'run_1'), " +
		"pg_notify('cairn_ended', 'run_2')")
	told(t, again)
	if n := b.ears(); n != 1 {
		t.Errorf("%d connections listen, want one for all", n)
	}
	select {
	case <-ended:
		t.Error("who waits no more was told")
	default:
	}
	b.Close()
	until(t, "the connection's end", func() bool { return b.ears() == 0 })
}
