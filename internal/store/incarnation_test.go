package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// After a restore, the lost timeline writes nothing, and the new one uses none of its IDs.
func TestAnAcceptedRestoreBeginsAnotherIncarnation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.exec(
		"update runs set status = 'running', outcome = '', ended_at = null, workflow_id = 'turn/' || $1 || '/1/m-1', "+
			"attempt = 1 where workspace_id = $2",
		b.a.Key,
		b.a.ID,
	)
	open := b.number("select count(*) from runs where status <> 'ended'")
	b.exec("update llm_calls set state = 'started', reply = null where workspace_id = $1", b.a.ID)
	old := run.EnterIncarnation(t.Context(), 1)
	noop := func(context.Context, store.Tx) error { return nil }
	testkit.Must(t, b.InWorkspace(old, b.a.ID, noop))

	got, err := store.AcceptRestore(t.Context(), b.url)
	testkit.Must(t, err)
	if got.Incarnation != 2 || got.Workspaces != 2 || got.Runs != open || open == 0 || got.Calls == 0 {
		t.Errorf("accepted %+v with %d open runs", got, open)
	}
	if n := b.number(`select count(*) from runs where workspace_id = $1 and attempt = 2 and status = 'accepted'
		and workflow_id = 'turn/i2/' || $2 || '/1/m-1'`, b.a.ID, b.a.Key); n != open {
		t.Errorf("%d of %d runs have another attempt", n, open)
	}
	if n := b.number("select count(*) from llm_calls where state = 'started'"); n != 0 {
		t.Errorf("%d calls are in flight", n)
	}
	if err := b.InWorkspace(old, b.a.ID, noop); fault.CodeOf(err) != fault.StaleIncarnation {
		t.Errorf("the lost timeline enters: %v", err)
	}
	if _, err := b.ClaimOutbox(old, outbox.Kinds(), 1); fault.CodeOf(err) != fault.StaleIncarnation {
		t.Errorf("the lost timeline claims: %v", err)
	}
	testkit.Must(t, b.InWorkspace(run.EnterIncarnation(t.Context(), 2), b.a.ID, noop))
	// A process that was not stopped is refused once, and then knows the new keys.
	if err := b.InWorkspace(t.Context(), b.a.ID, noop); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a process of the lost timeline: %v", err)
	}
	testkit.Must(t, b.InWorkspace(t.Context(), b.a.ID, noop))
	for name, want := range map[string]string{b.a.Name: "i2/" + b.a.Key, "made afterwards": "i2/w"} {
		ws, err := b.Workspace(t.Context(), name, true)
		testkit.Must(t, err)
		if !strings.HasPrefix(ws.Key, want) || run.IncarnationOfWorkflow("turn/"+ws.Key+"/1") != 2 {
			t.Errorf("the key of %s is %s", name, ws.Key)
		}
	}
	if n := b.number("select count(*) from pg_class where relnamespace = 'cairn'::regnamespace and relkind = 'r' " +
		"and relrowsecurity and not relforcerowsecurity"); n != 0 {
		t.Errorf("row-level security does not bind the owner of %d tables", n)
	}
	got, err = store.AcceptRestore(t.Context(), b.url)
	testkit.Must(t, err)
	if n := b.number("select count(*) from workspaces where key like 'i3/w%'"); got.Incarnation != 3 || n != 3 {
		t.Errorf("the second restore: %+v, %d keys", got, n)
	}
	events := b.texts(
		"select object from audit_events where action = 'restore.accept' and workspace_id is null order by id",
	)
	if len(events) != 2 || events[0] != "incarnation 2" || events[1] != "incarnation 3" {
		t.Errorf("recorded %q", events)
	}
}

// A restore is not accepted while another process writes, and changes nothing then.
func TestARestoreIsNotAcceptedWhileTheDatabaseIsInUse(t *testing.T) {
	testkit.Long(t) // waits for the time limit of a lock
	t.Parallel()
	b := setup(t)
	err := b.InWorkspace(t.Context(), b.a.ID, func(ctx context.Context, q store.Tx) error {
		if err := q.Outbox().Enqueue(ctx, outbox.NotifySettings, "0", 0); err != nil {
			return err
		}
		_, err := store.AcceptRestore(context.WithoutCancel(t.Context()), b.url)
		return err
	})
	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(fault.From(err).Hint, "stop all gateways") {
		t.Errorf("accepted: %v", err)
	}
	if n := b.number("select incarnation from store_state"); n != 1 {
		t.Errorf("the incarnation is %d", n)
	}
	if n := b.number("select count(*) from audit_events where action = 'restore.accept'"); n != 0 {
		t.Errorf("%d events of a refused act", n)
	}
}

// An activity whose run the database has lost is told apart from one whose run was erased.
func TestALostRunIsNotAnErasedOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conversation, erased := b.talked(b.a, "erased", 1)
	_, other := b.talked(b.b, "other", 1)
	read := func(ctx context.Context, id string) error {
		return b.InWorkspace(ctx, b.a.ID, func(_ context.Context, q store.Tx) error {
			_, err := q.Runs().RunState(ctx, id)
			return err
		})
	}
	activity := run.EnterIncarnation(t.Context(), 1)
	testkit.Must(t, read(activity, erased))
	b.erase(erasure.Target{Workspace: b.a.ID, Conversation: conversation, Derived: erasure.Keep})
	if err := read(activity, erased); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an erased run: %v", err)
	}
	for what, id := range map[string]string{"a lost run": run.NewID(), "a run of another workspace": other} {
		if err := read(activity, id); fault.CodeOf(err) != fault.StaleIncarnation ||
			!errors.Is(err, run.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
		if err := read(t.Context(), id); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s, asked for by a caller: %v", what, err)
		}
	}
	testkit.Must(t, b.CountLostCommit(t.Context()))
	if total, open, err := b.LostCommits(t.Context()); err != nil || total != 1 || open != 1 {
		t.Errorf("%d lost, %d open: %v", total, open, err)
	}
	_, err := store.AcceptRestore(t.Context(), b.url)
	testkit.Must(t, err)
	if total, open, err := b.LostCommits(t.Context()); err != nil || total != 1 || open != 0 {
		t.Errorf("%d lost, %d open: %v", total, open, err)
	}
}
