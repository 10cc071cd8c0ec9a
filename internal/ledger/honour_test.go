package ledger_test

import (
	"context"
	"errors"
	"testing"

	"cairn/internal/host/hosttest"
	"cairn/internal/ledger"
	"cairn/internal/llm"
	"cairn/internal/run"
	"cairn/internal/store"
)

// honour has a call admitted in a transaction and its reply kept by keep.
func (b *bundle) honour(ctx context.Context, step string, keep ledger.Keep) (llm.Reply, error) {
	b.t.Helper()
	wish, err := b.Wish(run.CallKey{Ref: b.run, Step: step}, llm.Request{Model: "scripted", Messages: llm.User("ask")}, 0)
	hosttest.Must(b.t, err)
	var ticket ledger.Ticket
	hosttest.Must(b.t, b.store.WithWorkspace(ctx, b.ws.ID, func(q store.Queries) error {
		ticket, err = q.AdmitCall(ctx, wish, q.SeekCall(wish.Key, wish.Parallel))
		return err
	}))
	return b.Honour(ctx, wish, ticket, keep)
}

// kept keeps a reply with a duty beside it, and fails afterwards with err.
func (b *bundle) kept(step string, err error) ledger.Keep {
	return func(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, _ error) {
		return stored, b.store.WithWorkspace(ctx, b.ws.ID, func(q store.Queries) (failed error) {
			if stored, failed = q.KeepReply(ctx, run.CallKey{Ref: b.run, Step: step}, reply, cost); failed != nil {
				return failed
			}
			if failed = q.Owe(ctx, store.EmbedDoc, step, 0); failed != nil {
				return failed
			}
			return err
		})
	}
}

func TestAReplyIsKeptWithWhatFollowsFromIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reply, err := b.honour(t.Context(), "s", b.kept("s", nil))
	if err != nil || reply.Text != "reply 1" || b.row("s").State != run.CallDone {
		t.Errorf("reply %q, %v; the call is %s", reply.Text, err, b.row("s").State)
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key = 's'"); n != 1 {
		t.Errorf("%d duties beside the reply, want 1", n)
	}
}

// A reply is paid whatever its caller can make of it.
func TestAReplyThatNothingFollowsFromIsKeptAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reply, err := b.honour(t.Context(), "s", b.kept("s", errors.New("this cannot be decoded")))
	if err != nil || reply.Text != "reply 1" || b.row("s").State != run.CallDone {
		t.Errorf("reply %q, %v; the call is %s", reply.Text, err, b.row("s").State)
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key = 's'"); n != 0 {
		t.Errorf("%d duties of what did not happen", n)
	}
	if again, err := b.ask(t.Context(), "s", "ask"); err != nil || again.Text != "reply 1" || len(b.model.requests()) != 1 {
		t.Errorf("asked again: %q, %v, after %d requests", again.Text, err, len(b.model.requests()))
	}
}

// What follows from a reply that came second does not happen.
func TestTheFirstReplyIsTheOneThatCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(ctx context.Context, n int, _ string) (llm.Reply, error) {
		_, err := b.store.EndCall(ctx, run.CallKey{Ref: b.run, Step: "s"}, said("first"), nil)
		return said("second"), err
	})
	reply, err := b.honour(t.Context(), "s", b.kept("s", nil))
	if err != nil || reply.Text != "first" {
		t.Errorf("reply %q, %v; want the first that was stored", reply.Text, err)
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key = 's'"); n != 0 {
		t.Errorf("%d duties of the second reply", n)
	}
}
