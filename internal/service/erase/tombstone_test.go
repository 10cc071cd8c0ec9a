package erase_test

import (
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// A database that was restored from a backup does not know what was erased since. Each erasure is
// repeated once, and only on the data that it was of.
func TestErasuresAreRepeatedAfterARestore(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.Exec(`insert into memories (workspace_id, external_id, type, content, content_sha256, origin, op_id, target)
		values ($1, 'aa112233445566ff', 'personal', 'Ada works at night.', sha256('y'), 'user', 'op2', 'Ada')`, e.B.ID)
	e.Exec(`insert into memory_targets (workspace_id, type, target_key, target, match_key)
		values ($1, 'personal', 'Ada', 'Ada', 'ada')`, e.B.ID)
	talk := erasure.Target{Workspace: e.A.ID, Conversation: e.conversation(e.A, "talk"), Derived: erasure.Delete}
	ada := erasure.Target{Workspace: e.B.ID, Subject: "Ada"}
	for _, target := range []erasure.Target{talk, ada} {
		testkit.Must(t, e.Fence(t.Context(), contract.EraseRef{Erasure: e.accept(target).ID}))
	}
	all, err := e.Tombstones(t.Context())
	testkit.Must(t, err)
	if len(all) != 2 {
		t.Fatalf("tombstones %+v", all)
	}
	if again, err := e.Repeat(t.Context(), all); err != nil || len(again) != 0 {
		t.Errorf("the database knows the erasures, but repeats %+v: %v", again, err)
	}
	// as in a backup from before the erasures
	e.Exec("delete from erase_items")
	e.Exec("delete from erasures")
	e.Exec(`insert into memory_targets (workspace_id, type, target_key, target, match_key)
		values ($1, 'personal', 'Ada', 'Ada', 'ada') on conflict do nothing`, e.B.ID)
	_, err = store.AcceptRestore(t.Context(), e.Admin.Config().ConnString())
	testkit.Must(t, err)
	_, err = e.Repeat(t.Context(), all) // this store was open during the restore
	wants(t, "the first attempt", err, fault.Unavailable)
	repeated, err := e.Repeat(t.Context(), all)
	testkit.Must(t, err)
	if len(repeated) != 2 {
		t.Fatalf("repeated %+v", repeated)
	}
	for _, r := range repeated {
		if r.Conversation != 0 && (r.Conversation != talk.Conversation || r.Derived != erasure.Delete) {
			t.Errorf("repeated %+v", r)
		}
		if !e.steps(r.ID) {
			t.Errorf("erasure %d has not ended: %+v", r.ID, e.report(r.ID))
		}
	}
	if n := e.Number("select count(*) from memories where external_id in ('aa112233445566ff', '00112233445566ff') "+
		"and (workspace_id = $1 or target = 'Ada')", e.A.ID); n != 0 {
		t.Errorf("%d erased memories are left", n)
	}
	if again, err := e.Repeat(t.Context(), all); err != nil || len(again) != 0 {
		t.Errorf("repeated twice: %+v, %v", again, err)
	}
	// The number of an erased conversation is assigned again, to another one.
	e.Exec("delete from erase_items")
	e.Exec("delete from erasures")
	e.Exec("insert into conversations (workspace_id, id, external_id) overriding system value values ($1, $2, 'new')",
		e.A.ID, talk.Conversation)
	if again, err := e.Repeat(t.Context(), all); err != nil || len(again) != 0 {
		t.Errorf("data of nobody is erased: %+v, %v", again, err)
	}
}

func TestAnErasedWorkspaceStaysErasedAfterARestore(t *testing.T) {
	t.Parallel()
	e := setup(t)
	testkit.Must(t, e.Fence(t.Context(), contract.EraseRef{Erasure: e.accept(e.whole()).ID}))
	all, err := e.Tombstones(t.Context())
	testkit.Must(t, err)
	e.Exec("delete from erasures")
	e.Exec("update workspaces set state = 'active'")
	repeated, err := e.Repeat(t.Context(), all)
	testkit.Must(t, err)
	if len(repeated) != 1 || !repeated[0].Whole() || repeated[0].Workspace != e.A.ID {
		t.Fatalf("repeated %+v", repeated)
	}
	if n := e.Number("select count(*) from workspaces where id = $1 and state = 'erasing'", e.A.ID); n != 1 {
		t.Error("the workspace can be entered")
	}
}
