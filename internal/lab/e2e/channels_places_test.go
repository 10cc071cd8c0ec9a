package e2e_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"cairn/internal/domain/outbox"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/channel"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// got waits until the program has n messages and returns the last one.
func (c *chats) got(n int) string {
	c.T.Helper()
	testkit.Eventually(c.T, "the program has the messages", func() bool { return len(c.program.got()) >= n })
	return c.program.got()[n-1]
}

// A reply that is written while /new begins another conversation is sent.
func TestAReplyArrivesAfterNew(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	testkit.Must(t, c.Model.Script(openaitest.Script{Rules: []openaitest.Rule{
		{Stage: "turn", Barrier: "slow", Reply: "The answer."}}}))
	c.post("e1", "room", "ada", "A long question")
	testkit.Must(t, c.Model.AwaitBarrier(t.Context(), "slow", 1))
	c.post("e2", "room", "ada", "/new")
	c.got(1)
	c.Model.Release("slow")
	if got := c.got(2); got != "room: The answer." {
		t.Errorf("%q", got)
	}
}

// A deleted message is withdrawn from the conversation in which it was said, also after /new.
func TestAMessageOfAnEarlierConversationIsWithdrawn(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.post("e1", "room", "ada", "My PIN is 4711")
	c.got(1)
	c.post("e2", "room", "ada", "/new")
	c.got(2)
	c.post("e3", "room", "ada", "My PIN is 4712")
	c.got(3)
	c.post("e4", "room", "ada", "/new")
	c.got(4)
	for _, id := range []string{"e1", "e3"} {
		c.event("delete-"+id, map[string]any{"type": "deleted", "conversation": "room", "message_id": id,
			"sender": map[string]string{"id": "ada"}})
	}
	testkit.Eventually(t, "the texts are gone", func() bool {
		return c.count("select count(*) from cairn.messages where content like '%My PIN%' and role = 'user'") == 0
	})
}

// Places whose names look like a thread or a later conversation of another one have conversations of their own.
func TestPlacesWithSimilarNames(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.post("e1", "a/b", "ada", "Hello")
	c.post("e2", "a#2", "ada", "Hello")
	c.event("e3", map[string]any{"conversation": "a", "thread": "b", "text": "Hello",
		"sender": map[string]string{"id": "ada"}})
	c.post("e4", "a", "ada", "/new")
	c.post("e5", "a", "ada", "Hello")
	c.got(5)
	got := c.program.got()
	slices.Sort(got)
	for _, want := range []string{"a#2: You said **Hello**", "a/b: You said **Hello**", "a: You said **Hello**"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if n := c.count("select count(*) from cairn.conversations where external_id like 'desk/a%'"); n != 4 {
		t.Errorf("%d conversations", n)
	}
	if status := c.post("e5", "a", "ada", "Hello"); status != http.StatusNoContent {
		t.Errorf("status %d", status)
	}
}

// The task of a route that was erased with its events ends.
func TestEventsOfAnErasedRoute(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.post("e1", "room", "ada", "Hello")
	c.got(1)
	ws, _, _, err := c.App.Store.Channels().Find(t.Context(), "desk", channel.KindUser, "ada")
	testkit.Must(t, err)
	testkit.Must(t, c.App.Store.InWorkspace(t.Context(), ws.ID, func(ctx context.Context, q store.Tx) error {
		return q.Outbox().Enqueue(ctx, outbox.HandleEvents, "4711", 0)
	}))
	testkit.Eventually(t, "the task is removed", func() bool {
		return c.count("select count(*) from cairn.outbox where kind = 'event'") == 0
	})
}
