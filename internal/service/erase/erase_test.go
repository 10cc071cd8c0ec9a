package erase_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/service/erase"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestEraseLeavesNothingOfAWorkspace(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.workflows.open = []erase.Execution{{Workflow: "distill/x", Run: "r1"}, {Workflow: "turn/x", Run: "r2"}}
	id := e.accept(e.whole()).ID
	if !e.steps(id) {
		t.Fatalf("it has not ended: %+v", e.report(id))
	}
	if got := e.holds(e.A); got != empty {
		t.Errorf("it holds %s", got)
	}
	if got := e.holds(e.B); got != full {
		t.Errorf("the neighbor holds %s", got)
	}
	got := e.report(id)
	if !got.Ended || got.EndedAt == nil || got.Objects != 2*packs || got.ObjectsLeft != 0 || got.Workflows != 2 {
		t.Errorf("the report is %+v", got)
	}
	if d := got.Deleted; d["messages"] != 2 || d["packages"] != packs || d["workspaces"] != 1 || got.Rows() < 18 {
		t.Errorf("deleted %v", d)
	}
	if !slices.Equal(e.emptied, []int64{e.A.ID}) {
		t.Errorf("emptied %v", e.emptied)
	}
}

func TestEraseRepeatedChangesNothing(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.accept(e.whole()).ID
	e.steps(id)
	first, asked := e.report(id), len(e.workflows.asked)
	e.workflows.open = []erase.Execution{{Workflow: "turn/y", Run: "of another workspace"}}
	if !e.steps(id) {
		t.Error("it is open again")
	}
	again := e.report(id)
	if again.Rows() != first.Rows() || again.Objects != first.Objects || !again.EndedAt.Equal(*first.EndedAt) {
		t.Errorf("it was %+v, and is %+v", first, again)
	}
	if len(e.workflows.asked) != asked || len(e.workflows.stopped) != 0 || len(e.emptied) != 1 {
		t.Errorf("workflows asked %v, stopped %v; emptied %v", e.workflows.asked, e.workflows.stopped, e.emptied)
	}
}

// Each step may be repeated before the next one; its counts are added once.
func TestEraseCountsOnceWhatAStepDidTwice(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.accept(e.whole()).ID
	e.workflows.open = []erase.Execution{{Workflow: "turn/x", Run: "r1"}}
	for _, step := range []func(context.Context, contract.EraseRef) error{e.Fence, e.Stop, e.CountObjects,
		e.Service.Rows, e.Objects, e.CountObjects} {
		for range 2 {
			testkit.Must(t, step(t.Context(), contract.EraseRef{Erasure: id}))
		}
	}
	if out, err := e.End(t.Context(), contract.EraseRef{Erasure: id}); err != nil || !out.Ended {
		t.Errorf("ended %t: %v", out.Ended, err)
	}
	if got := e.report(id); got.Objects != 2*packs || got.Workflows != 1 || got.Deleted["messages"] != 2 {
		t.Errorf("the report is %+v", got)
	}
}

func TestEraseOfAConversationDoesAsWasChosen(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for _, c := range []struct {
		ws      access.Workspace
		derived string
		status  string
		left    int
	}{{e.A, erasure.Quarantine, "quarantined", 1}, {e.B, erasure.Delete, "active", 0}} {
		target := erasure.Target{Workspace: c.ws.ID, Conversation: e.conversation(c.ws, "talk"), Derived: c.derived}
		id := e.accept(target).ID
		if !e.steps(id) {
			t.Fatalf("%s has not ended: %+v", c.derived, e.report(id))
		}
		n := e.Number(`select count(*) from memories
			where workspace_id = $1 and conversation_id is null and status = $2`, c.ws.ID, c.status)
		if got := e.report(id); n != c.left || got.Memories != 1 || got.Deleted["messages"] != 1 {
			t.Errorf("%s: %d memories are left, and the report is %+v", c.derived, n, got)
		}
		if n := e.Number("select count(*) from conversations where workspace_id = $1 and external_id = 'other'",
			c.ws.ID); n != 1 || e.objects(c.ws) != 2*packs {
			t.Errorf("%s: the other conversation or its packages are gone", c.derived)
		}
	}
	if len(e.emptied) != 0 {
		t.Errorf("the places of packages were emptied: %v", e.emptied)
	}
}

func TestEraseKeepsWhatCameOfAConversationUnlessAsked(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.accept(erasure.Target{Workspace: e.A.ID, Conversation: e.conversation(e.A, "talk")}).ID
	testkit.Must(t, e.Derived(t.Context(), contract.EraseRef{Erasure: id}))
	testkit.Must(t, e.Derived(t.Context(), contract.EraseRef{Erasure: id}))
	const kept = `select count(*) from memories
		where workspace_id = $1 and status = 'active' and conversation_id is null`
	if n := e.Number(kept, e.A.ID); n != 1 || e.report(id).Memories != 1 {
		t.Errorf("%d memories are kept, the report has %d", n, e.report(id).Memories)
	}
	if n := e.Number("select count(*) from messages where workspace_id = $1", e.A.ID); n != 2 {
		t.Errorf("%d messages are left before their step", n)
	}
}

func TestFenceWaitsForWritersWhoWereThereBefore(t *testing.T) {
	t.Parallel()
	e := setup(t)
	entered, leave, left := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		left <- e.InWorkspace(t.Context(), e.A.ID, func(ctx context.Context, tx store.Tx) error {
			close(entered)
			<-leave
			return tx.Outbox().Enqueue(ctx, outbox.DriveRun, "1", 0)
		})
	}()
	<-entered
	target := erasure.Target{Workspace: e.A.ID, Conversation: e.conversation(e.A, "talk")}
	id := e.accept(target).ID
	fenced := make(chan error, 1)
	go func() { fenced <- e.Fence(t.Context(), contract.EraseRef{Erasure: id}) }()
	testkit.Eventually(t, "the fence waits", func() bool {
		return e.Number(`select count(*) from pg_locks where locktype = 'advisory' and not granted
			and database = (select oid from pg_database where datname = current_database())`) == 1
	})
	select {
	case err := <-fenced:
		t.Errorf("the fence stands while a writer is in: %v", err)
	default:
	}
	close(leave)
	testkit.Must(t, <-left)
	testkit.Must(t, <-fenced)
	if n := e.Number("select count(*) from outbox where workspace_id = $1", e.A.ID); n != 1 {
		t.Errorf("%d rows of the writer", n)
	}
}

func TestStopEndsWorkflowsAndCountsEachOnce(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.workflows.open = []erase.Execution{{Workflow: "turn/x", Run: "r1"}, {Workflow: "turn/y", Run: "r2"}}
	e.workflows.away = 1
	id := e.accept(e.whole()).ID
	if err := e.Stop(t.Context(), contract.EraseRef{Erasure: id}); !errors.Is(err, errAway) {
		t.Errorf("while Temporal is away: %v", err)
	}
	if got := e.report(id); got.WorkflowsLeft != 2 {
		t.Errorf("%d are left", got.WorkflowsLeft)
	}
	testkit.Must(t, e.Stop(t.Context(), contract.EraseRef{Erasure: id}))
	slices.Sort(e.workflows.stopped)
	if got := e.report(id); got.Workflows != 2 || got.WorkflowsLeft != 0 ||
		!slices.Equal(e.workflows.stopped, []string{"r1", "r2"}) {
		t.Errorf("stopped %v; the report has %d, and %d left", e.workflows.stopped, got.Workflows, got.WorkflowsLeft)
	}
	for _, asked := range e.workflows.asked {
		if asked != e.A.Key+" []" {
			t.Errorf("the workflows of %s were looked at", asked)
		}
	}
}

func TestStopGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.accept(e.whole()).ID
	ctx, cancel := context.WithCancel(t.Context())
	e.Service.Workflows = &cancelling{cancel: cancel}
	if err := e.Stop(ctx, contract.EraseRef{Erasure: id}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	testkit.Must(t, e.Service.Rows(t.Context(), contract.EraseRef{Erasure: id}))
	testkit.Must(t, e.Objects(t.Context(), contract.EraseRef{Erasure: id}))
	if out, err := e.End(t.Context(), contract.EraseRef{Erasure: id}); out.Ended || err != nil {
		t.Errorf("ended %t with an open workflow: %v", out.Ended, err)
	}
}

// cancelling is a workflow that stays open until its caller is canceled.
type cancelling struct {
	cancel context.CancelFunc
}

func (c *cancelling) Open(context.Context, string, []int64) ([]erase.Execution, error) {
	return []erase.Execution{{Workflow: "turn/x", Run: "r1"}}, nil
}

func (c *cancelling) Terminate(context.Context, erase.Execution) error {
	c.cancel()
	return nil
}

func TestEraseGoesOnAfterThePackageStoreWasAway(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.accept(e.whole()).ID
	testkit.Must(t, e.Stop(t.Context(), contract.EraseRef{Erasure: id}))
	testkit.Must(t, e.CountObjects(t.Context(), contract.EraseRef{Erasure: id}))
	testkit.Must(t, e.Service.Rows(t.Context(), contract.EraseRef{Erasure: id}))
	e.blobs.away = true
	if err := e.Objects(t.Context(), contract.EraseRef{Erasure: id}); !errors.Is(err, errAway) {
		t.Errorf("deleted: %v", err)
	}
	e.blobs.away, e.blobs.lags = false, true
	wants(t, "while the store shows what it deleted", e.Objects(t.Context(), contract.EraseRef{Erasure: id}),
		fault.Unavailable)
	e.blobs.lags = false
	if n := e.Number("select count(*) from packages where workspace_id = $1", e.A.ID); n != packs {
		t.Errorf("%d packages are known, whose objects are not gone", n)
	}
	if out, err := e.End(t.Context(), contract.EraseRef{Erasure: id}); out.Ended || err != nil {
		t.Errorf("ended %t with objects left: %v", out.Ended, err)
	}
	if !e.steps(id) || e.holds(e.A) != empty || e.report(id).Objects != 2*packs {
		t.Errorf("afterwards it holds %s, and the report is %+v", e.holds(e.A), e.report(id))
	}
}

func TestEndIsRefusedWhileRowsAreLeft(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.accept(e.whole()).ID
	testkit.Must(t, e.Stop(t.Context(), contract.EraseRef{Erasure: id}))
	testkit.Must(t, e.Objects(t.Context(), contract.EraseRef{Erasure: id}))
	for range 2 {
		if out, err := e.End(t.Context(), contract.EraseRef{Erasure: id}); out.Ended || err != nil {
			t.Errorf("ended %t: %v", out.Ended, err)
		}
	}
	got := e.report(id)
	if got.Ended || got.Remaining["messages"] != 2 || got.Remaining["conversations"] != 2 {
		t.Errorf("the report is %+v", got)
	}
}

func TestStepsOfAnUnknownErasureAreNotFound(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for what, step := range map[string]func(context.Context, contract.EraseRef) error{"Fence": e.Fence, "Stop": e.Stop,
		"CountObjects": e.CountObjects, "Derived": e.Derived, "Rows": e.Service.Rows, "Objects": e.Objects,
		"End": func(ctx context.Context, in contract.EraseRef) error { _, err := e.End(ctx, in); return err }} {
		wants(t, what, step(t.Context(), contract.EraseRef{Erasure: 999_999}), fault.NotFound)
	}
}
