package e2e_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// A waiting message is canceled by its ID, before or after the conversation has received it, and
// gets a reply.
func TestATurnThatWaitsIsCancelledAndAnswered(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "first", Barrier: "held", Reply: "Here I am."})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Not wanted."})
	cancel := func(message string, want bool) {
		t.Helper()
		if got, err := b.Conversations.Cancel(t.Context(), b.Workspace, "c", message); err != nil || got != want {
			t.Errorf("cancel %q: %t, %v", message, got, err)
		}
	}
	send(b, b.Message("c", "m1", "the first"))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	send(b, b.Message("c", "m2", "the second"))
	id := view(b, "c").ID
	testkit.Eventually(t, "the second waits", func() bool {
		v, err := b.Driver.State(t.Context(), b.Workspace.Key, id)
		return err == nil && v.Busy == 2
	})
	cancel("m2", true)
	cancel("m2", true) // asked twice
	third := b.Message("c", "m3", "the third")
	_, err := b.App.Inbox.Accept(t.Context(), third) // stored, and not delivered to the conversation
	testkit.Must(t, err)
	cancel("m3", true)
	cancel("m4", false) // no such message
	send(b, third)
	b.Model.Release("held")
	if got := answered(b, "c", "m1"); got.Reply != "Here I am." {
		t.Errorf("the first is answered %+v", got)
	}
	for _, m := range []string{"m2", "m3"} {
		if got := answered(b, "c", m); got.Reason != "interrupted" || got.Reply == "" {
			t.Errorf("%s is answered %+v", m, got)
		}
	}
	cancel("m2", false) // it has ended
	if n := len(asked(b, "turn")); n != 1 {
		t.Errorf("%d requests, want the first message's", n)
	}
	if got := b.Say("c", 5, "the last"); got.Reply != "Not wanted." {
		t.Errorf("then %+v", got)
	}
}

// A cancellation that arrives while the conversation continues as new is kept.
func TestACancellationSurvivesAContinueAsNew(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.ConversationTurns = 1 })
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Yes."})
	b.Say("c", 1, "the first")
	next := b.Message("c", "m2", "the second")
	_, err := b.App.Inbox.Accept(t.Context(), next)
	testkit.Must(t, err)
	if got, err := b.Conversations.Cancel(t.Context(), b.Workspace, "c", "m2"); err != nil || !got {
		t.Fatalf("cancelled: %t, %v", got, err)
	}
	send(b, next)
	if got := answered(b, "c", "m2"); got.Reason != "interrupted" {
		t.Errorf("answered %+v", got)
	}
}

// If a conversation receives a cancellation together with the message at its start, the
// cancellation comes first.
func TestACancellationThatComesWithTheMessageComesFirst(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Yes."})
	first := b.Message("c", "m1", "the first")
	_, err := b.App.Inbox.Accept(t.Context(), first)
	testkit.Must(t, err)
	if got, err := b.Conversations.Cancel(t.Context(), b.Workspace, "c", "m1"); err != nil || !got {
		t.Fatalf("cancelled %t, %v", got, err)
	}
	send(b, first)
	// for the update to arrive, which cannot be observed; if it is late, the test passes
	time.Sleep(300 * time.Millisecond)
	b.Start()
	if got := answered(b, "c", "m1"); got.Reason != "interrupted" {
		t.Errorf("answered %+v", got)
	}
}

// A changed setting reaches running conversations without a message.
func TestAChangeOfSettingsReachesRunningConversations(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Yes."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	names := []string{"c", "d"}
	for _, name := range names {
		b.Say(name, 1, "Hello")
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(`{"nudge":{"every":3,"on_end":false}}`))
		return err
	})
	testkit.Eventually(t, "every conversation knows", func() bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			v, err := b.Driver.State(t.Context(), b.Workspace.Key, view(b, name).ID)
			return err != nil || v.Settings.Every != 3 || v.Settings.OnEnd
		})
	})
	testkit.Eventually(t, "the duty is done", func() bool {
		return count(b, "select count(*) from cairn.outbox where kind = 'settings'") == 0
	})
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(`{"limits":{"core_runes":3000}}`))
		return err
	})
	if n := count(b, "select count(*) from cairn.outbox where kind = 'settings'"); n != 0 {
		t.Errorf("what no conversation follows made %d duties", n)
	}
	b.Say("c", 2, "Hello")
	b.Say("c", 3, "Hello")
	if n := len(reviews(b, "c", 1)); n != 1 {
		t.Errorf("%d reviews after three turns", n)
	}
}
