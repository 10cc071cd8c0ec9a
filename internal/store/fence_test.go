package store_test

import (
	"context"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

const fence = "select pg_advisory_xact_lock(1, hashint8($1))" // the exclusive lock, as an erasure takes it

func TestAWorkspaceThatIsErasedOrUnknownCannotBeEntered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("update workspaces set state = 'erasing' where id = $1", b.a.ID)
	for ws, want := range map[int64]fault.Code{b.a.ID: fault.Erasing, b.b.ID: "", 999: fault.NotFound} {
		ran := false
		err := b.InWorkspace(t.Context(), ws, func(context.Context, store.Tx) error { ran = true; return nil })
		if fault.CodeOf(err) != want || ran != (want == "") {
			t.Errorf("workspace %d: code %q (%v), entered %t; want %q", ws, fault.CodeOf(err), err, ran, want)
		}
	}
}

func TestEraseWaitsForWritersAndShutsOutLaterOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	inside, leave := make(chan bool), make(chan bool)
	writer := make(chan error, 1)
	go func() {
		writer <- b.InWorkspace(ctx, b.a.ID, func(ctx context.Context, q store.Tx) error {
			inside <- true
			<-leave
			return q.Outbox().Enqueue(ctx, outbox.DriveRun, "1", 0)
		})
	}()
	<-inside

	erase, err := b.admin.Begin(ctx)
	testkit.Must(t, err)
	defer erase.Rollback(context.Background())
	locked := make(chan error, 1)
	go func() {
		_, err := erase.Exec(ctx, "update workspaces set state = 'erasing' where id = $1", b.a.ID)
		if err == nil {
			_, err = erase.Exec(ctx, fence, b.a.ID)
		}
		locked <- err
	}()
	b.untilBlocked(1)
	b.in(b.b, func(context.Context, store.Tx) error { return nil }) // other workspaces are not blocked

	late := make(chan error, 1)
	close(leave)
	testkit.Must(t, <-writer)
	testkit.Must(t, <-locked)
	var rows int
	testkit.Must(t, erase.QueryRow(ctx, "select count(*) from outbox where workspace_id = $1", b.a.ID).Scan(&rows))
	if rows != 1 {
		t.Errorf("erase sees %d rows of the writer it waited for, want 1", rows)
	}
	go func() {
		late <- b.InWorkspace(ctx, b.a.ID, func(ctx context.Context, q store.Tx) error {
			return q.Outbox().Enqueue(ctx, outbox.DriveRun, "2", 0)
		})
	}()
	b.untilBlocked(1)
	_, err = erase.Exec(ctx, "delete from outbox where workspace_id = $1", b.a.ID)
	testkit.Must(t, err)
	testkit.Must(t, erase.Commit(ctx))
	if err := <-late; fault.CodeOf(err) != fault.Erasing {
		t.Errorf("a writer that came later: %v, want %s", err, fault.Erasing)
	}
	if n := b.number("select count(*) from outbox"); n != 0 {
		t.Errorf("%d rows were written after the erase", n)
	}
}
