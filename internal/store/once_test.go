package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// An operation that fails, or whose answer is lost, happens once.

type outcome struct{ N int }

// do runs an operation whose effect is one more outbox task.
func (b *bundle) do(args any, effect ...func() error) (outcome, error) {
	var out outcome
	err := b.InWorkspace(b.t.Context(), b.a.ID, func(_ context.Context, q store.Tx) (err error) {
		out, err = store.Once(b.t.Context(), q, "7/save/0", args, func() (outcome, error) {
			_, err := b.admin.Exec(b.t.Context(), "select nextval('effects')") // also counts rolled back effects
			if err == nil {
				err = q.Outbox().Enqueue(b.t.Context(), outbox.DriveRun, "1", 0)
			}
			for _, f := range effect {
				err = errors.Join(err, f())
			}
			return outcome{N: 42}, err
		})
		return err
	})
	return out, err
}

// effects counts how often the effect ran.
func (b *bundle) effects() int {
	return b.number("select case when is_called then last_value else 0 end from effects")
}

func TestAnOperationHasItsEffectOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("create sequence effects")
	for range 3 {
		if out, err := b.do(map[string]any{"name": "x"}); err != nil || out.N != 42 {
			t.Errorf("result %+v, %v", out, err)
		}
	}
	if n := b.effects(); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

func TestAnOperationWithOtherArgumentsIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("create sequence effects")
	_, err := b.do(map[string]any{"name": "x"})
	testkit.Must(t, err)
	if _, err := b.do(map[string]any{"name": "y"}); fault.CodeOf(err) != fault.OpReused {
		t.Errorf("%v, want %s", err, fault.OpReused)
	}
	if n := b.effects(); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

func TestAnOperationThatFailedMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("create sequence effects")
	broken := errors.New("broken")
	if _, err := b.do(1, func() error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("%v, want %v", err, broken)
	}
	if n := b.number("select count(*) from tool_op_log") + b.number("select count(*) from outbox"); n != 0 {
		t.Errorf("%d rows of a failed operation", n)
	}
	if out, err := b.do(2); err != nil || out.N != 42 {
		t.Errorf("again: %+v, %v", out, err)
	}
}

// The first attempt is still running when the second starts.
func TestASecondAttemptWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("create sequence effects")
	inside, leave := make(chan bool), make(chan bool)
	var wait sync.WaitGroup
	attempt := func(f ...func() error) {
		if out, err := b.do("same", f...); err != nil || out.N != 42 {
			t.Errorf("result %+v, %v", out, err)
		}
	}
	wait.Go(func() { attempt(func() error { close(inside); <-leave; return nil }) })
	<-inside
	wait.Go(func() { attempt(func() error { t.Error("the effect ran twice"); return nil }) })
	b.untilBlocked(1)
	close(leave)
	wait.Wait()
	if n := b.effects(); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

func TestOperationsOfTwoWorkspacesDoNotMeet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, ws := range []access.Workspace{b.a, b.b} {
		b.in(ws, func(ctx context.Context, q store.Tx) error {
			out, err := store.Once(ctx, q, "1/x/0", ws.Name, func() (string, error) { return ws.Name, nil })
			if out != ws.Name {
				t.Errorf("workspace %s got the result of %s", ws.Name, out)
			}
			return err
		})
	}
}
