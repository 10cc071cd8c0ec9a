package erase_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestPlanCountsWhatWouldGoAndTakesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := setup(t)
	for range 2 {
		plan, err := e.Plan(t.Context(), e.whole())
		testkit.Must(t, err)
		r := plan.Rows
		if r["conversations"] != 2 || r["messages"] != 2 || r["memories"] != 1 || r["packages"] != packs {
			t.Errorf("of the workspace: %v", r)
		}
		if len(plan.Derived) != 0 {
			t.Errorf("a workspace has derived %+v", plan.Derived)
		}
		talk := erasure.Target{Workspace: e.A.ID, Conversation: e.conversation(e.A, "talk")}
		if plan, err = e.Plan(t.Context(), talk); err != nil {
			t.Fatal(err)
		}
		if plan.Rows["messages"] != 1 || plan.Rows["memories"] != 1 || plan.Rows["conversations"] != 1 {
			t.Errorf("of the conversation: %v", plan.Rows)
		}
		if d := plan.Derived; len(d) != 1 || d[0].Kind != "memory" || d[0].Ref != "00112233445566ff" || !d[0].Sole {
			t.Errorf("came of the conversation: %+v", d)
		}
	}
	if got := e.holds(e.A); got != full {
		t.Errorf("after the plans it holds %s", got)
	}
	_, err := e.Plan(t.Context(), erasure.Target{Workspace: e.A.ID, Derived: "burn"})
	wants(t, "an unknown choice", err, fault.InvalidArgument)
}

func TestAcceptLetsNobodyIntoTheWorkspace(t *testing.T) {
	t.Parallel()
	e := setup(t)
	got := e.accept(e.whole())
	if got.Ended || got.ID == 0 || got.Workspace != e.A.ID || got.Derived != erasure.Keep ||
		got.WorkflowID() != "erase/"+e.A.Key {
		t.Errorf("accepted %+v as %s", got, got.WorkflowID())
	}
	noop := func(context.Context, store.Tx) error { return nil }
	wants(t, "entered", e.InWorkspace(t.Context(), e.A.ID, noop), fault.Erasing)
	testkit.Must(t, e.InWorkspace(t.Context(), e.B.ID, noop))
	_, err := e.Accept(t.Context(), erasure.Target{Workspace: e.A.ID, Conversation: e.conversation(e.A, "talk")})
	wants(t, "a conversation of it", err, fault.Erasing)
	if got := e.holds(e.A); got != full {
		t.Errorf("nothing is deleted yet, but it holds %s", got)
	}
}

func TestAcceptTakesTheNameOfAConversation(t *testing.T) {
	t.Parallel()
	e := setup(t)
	talk := e.conversation(e.A, "talk")
	got := e.accept(erasure.Target{Workspace: e.A.ID, Conversation: talk, Derived: erasure.Delete})
	if got.Conversation != talk || got.Derived != erasure.Delete ||
		got.WorkflowID() != fmt.Sprintf("erase/%s/%d", e.A.Key, talk) {
		t.Errorf("accepted %+v as %s", got, got.WorkflowID())
	}
	again := transcript.Conversation{
		ID:       "talk",
		Messages: []transcript.Message{{Role: transcript.User, Content: "Hi."}},
	}
	testkit.Must(t, e.InWorkspace(t.Context(), e.A.ID, func(ctx context.Context, tx store.Tx) error {
		id, err := tx.Transcripts().PutConversation(ctx, again, "import")
		if id == talk {
			t.Error("the name finds the conversation that goes")
		}
		return err
	}))
}

func TestAcceptRepeatedIsTheSameErasure(t *testing.T) {
	t.Parallel()
	e := setup(t)
	talk := erasure.Target{Workspace: e.A.ID, Conversation: e.conversation(e.A, "talk")}
	for _, target := range []erasure.Target{talk, e.whole()} {
		first := e.accept(target)
		if again := e.accept(target); again.ID != first.ID || !again.RequestedAt.Equal(first.RequestedAt) {
			t.Errorf("accepted %+v, and then %+v", first, again)
		}
	}
	if n := e.Number("select count(*) from erasures"); n != 2 {
		t.Errorf("%d erasures", n)
	}
}

func TestAcceptRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for what, c := range map[string]struct {
		target erasure.Target
		code   fault.Code
	}{
		"an unknown choice":       {erasure.Target{Workspace: e.A.ID, Derived: "burn"}, fault.InvalidArgument},
		"an unknown workspace":    {erasure.Target{Workspace: 999_999}, fault.NotFound},
		"an unknown conversation": {erasure.Target{Workspace: e.A.ID, Conversation: 999_999}, fault.NotFound},
		"a neighbor's conversation": {erasure.Target{Workspace: e.A.ID, Conversation: e.conversation(e.B, "talk")},
			fault.NotFound},
	} {
		_, err := e.Accept(t.Context(), c.target)
		wants(t, what, err, c.code)
	}
	if n := e.Number("select count(*) from erasures"); n != 0 {
		t.Errorf("%d erasures", n)
	}
}

func TestReportIsForThoseOfTheWorkspace(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.accept(e.whole()).ID
	for _, ws := range []int64{0, e.A.ID} { // 0 is the operator
		if got, err := e.Report(t.Context(), ws, id); err != nil || got.ID != id || got.Ended {
			t.Errorf("for %d: %+v, %v", ws, got, err)
		}
	}
	got, err := e.Report(t.Context(), e.B.ID, id)
	wants(t, "for a neighbor", err, fault.NotFound)
	if got.ID != 0 {
		t.Errorf("a neighbor is told %+v", got)
	}
	_, err = e.Report(t.Context(), 0, 999_999)
	wants(t, "an unknown erasure", err, fault.NotFound)
}
