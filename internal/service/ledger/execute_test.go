package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// execute admits a call in a transaction and stores its reply with keep.
func (b *bundle) execute(ctx context.Context, step string, keep ledger.StoreReply) (llm.Reply, error) {
	b.t.Helper()
	request, err := b.Prepare(run.CallKey{Ref: b.run, Step: step},
		llm.Request{Model: "scripted", Messages: llm.User("ask")}, 0)
	testkit.Must(b.t, err)
	var admission modelcall.Admission
	testkit.Must(b.t, b.store.InWorkspace(ctx, b.ws.ID, func(ctx context.Context, q store.Tx) error {
		admission, err = q.Calls().AdmitCall(ctx, request)
		return err
	}))
	return b.Execute(ctx, request, admission, keep)
}

// kept stores a reply with an outbox task, and then fails with err.
func (b *bundle) kept(step string, err error) ledger.StoreReply {
	return func(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, _ error) {
		return stored, b.store.InWorkspace(ctx, b.ws.ID, func(ctx context.Context, q store.Tx) (failed error) {
			stored, failed = q.Calls().StoreReply(ctx, run.CallKey{Ref: b.run, Step: step}, reply, cost)
			if failed != nil {
				return failed
			}
			if failed = q.Outbox().Enqueue(ctx, outbox.EmbedDoc, step, 0); failed != nil {
				return failed
			}
			return err
		})
	}
}

func TestAReplyIsKeptWithWhatFollowsFromIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reply, err := b.execute(t.Context(), "s", b.kept("s", nil))
	if err != nil || reply.Text != "reply 1" || b.row("s").State != run.CallDone {
		t.Errorf("reply %q, %v; the call is %s", reply.Text, err, b.row("s").State)
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key = 's'"); n != 1 {
		t.Errorf("%d outbox tasks with the reply, want 1", n)
	}
}

// A reply is stored even if its caller cannot use it.
func TestAReplyThatNothingFollowsFromIsKeptAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reply, err := b.execute(t.Context(), "s", b.kept("s", errors.New("this cannot be decoded")))
	if err != nil || reply.Text != "reply 1" || b.row("s").State != run.CallDone {
		t.Errorf("reply %q, %v; the call is %s", reply.Text, err, b.row("s").State)
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key = 's'"); n != 0 {
		t.Errorf("%d duties of what did not happen", n)
	}
	if again, err := b.ask(t.Context(), "s", "ask"); err != nil || again.Text != "reply 1" ||
		len(b.model.requests()) != 1 {
		t.Errorf("asked again: %q, %v, after %d requests", again.Text, err, len(b.model.requests()))
	}
}

// A panic of the caller does not cause a second request.
func TestAReplyThatMakesItsCallerPanicIsKeptAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reply, err := b.execute(t.Context(), "s", func(context.Context, llm.Reply, *int64) (llm.Reply, error) {
		panic("no index 7")
	})
	if err != nil || reply.Text != "reply 1" || b.row("s").State != run.CallDone {
		t.Errorf("reply %q, %v; the call is %s", reply.Text, err, b.row("s").State)
	}
}

// question is admitted in its first round. Its reply "good" is stored with an outbox task.
func (b *bundle) question(parallel int) ledger.Question {
	b.t.Helper()
	good := func(text string) error {
		if text != "good" {
			return errors.New("it is not good")
		}
		return nil
	}
	q := ledger.Question{Run: b.run, Step: "s", Lang: "en",
		Request: llm.Request{Model: "scripted", Messages: llm.User("ask")}, Parallel: parallel, Repairs: 1,
		Decode: good}
	q.StoreReply = func(k run.CallKey) ledger.StoreReply {
		return func(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, _ error) {
			return stored, b.store.InWorkspace(ctx, b.ws.ID, func(ctx context.Context, q store.Tx) (err error) {
				if stored, err = q.Calls().StoreReply(ctx, k, reply, cost); err != nil {
					return err
				}
				if good(stored.Text) != nil {
					return modelcall.ErrReplyExists
				}
				return q.Outbox().Enqueue(ctx, outbox.EmbedDoc, fmt.Sprintf("s/%d", k.Round), 0)
			})
		}
	}
	request, err := b.Prepare(run.CallKey{Ref: b.run, Step: "s"}, q.Request, parallel)
	testkit.Must(b.t, err)
	q.Admitted = &ledger.AdmittedCall{Request: request}
	testkit.Must(b.t, b.store.InWorkspace(b.t.Context(), b.ws.ID, func(_ context.Context, tx store.Tx) error {
		q.Admitted.Admission, err = tx.Calls().AdmitCall(b.t.Context(), request)
		return err
	}))
	return q
}

// An unusable reply is stored alone; its repair is stored with the caller's data.
func TestEachRoundOfAQuestionIsKeptByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(_ context.Context, n int, _ string) (llm.Reply, error) {
		return said([]string{"bad", "good"}[n-1]), nil
	})
	text, problem, err := b.Ask(t.Context(), b.question(0))
	if text != "good" || problem != nil || err != nil || len(b.model.requests()) != 2 {
		t.Errorf("answer %q, %v, %v after %d requests", text, problem, err, len(b.model.requests()))
	}
	if n := b.number("select count(*) from llm_calls where state = 'done'"); n != 2 {
		t.Errorf("%d replies are kept, want 2", n)
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key = 's/1'"); n != 1 ||
		b.number("select count(*) from outbox where kind = 'embed'") != 1 {
		t.Errorf("%d duties of the answer", n)
	}
}

// A question that is not admitted at first waits for its turn.
func TestAQuestionThatFoundNoPlaceWaitsForOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := b.gate()
	first := make(chan error, 1)
	go func() {
		_, err := b.Call(t.Context(), run.CallKey{Ref: b.run, Step: "other"},
			llm.Request{Model: "scripted", Messages: llm.User("hi")}, 1)
		first <- err
	}()
	until(t, "the only place to be taken", func() bool { return g.held.Load() == 1 })
	q := b.question(1)
	if q.Admitted.Admission.Verdict != modelcall.Full ||
		b.number("select count(*) from llm_calls where step = 's'") != 0 {
		t.Errorf("verdict %s", q.Admitted.Admission.Verdict)
	}
	asked := make(chan string, 1)
	go func() {
		text, _, err := b.Ask(t.Context(), q)
		if err != nil {
			t.Error(err)
		}
		asked <- text
	}()
	for range 2 {
		g.pass <- said("good")
	}
	if text := <-asked; text != "good" || <-first != nil {
		t.Errorf("answer %q", text)
	}
}

// The caller's data of a second reply is not stored.
func TestTheFirstReplyIsTheOneThatCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(ctx context.Context, n int, _ string) (llm.Reply, error) {
		_, err := b.store.EndCall(ctx, run.CallKey{Ref: b.run, Step: "s"}, said("first"), nil)
		return said("second"), err
	})
	reply, err := b.execute(t.Context(), "s", b.kept("s", nil))
	if err != nil || reply.Text != "first" {
		t.Errorf("reply %q, %v; want the first that was stored", reply.Text, err)
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key = 's'"); n != 0 {
		t.Errorf("%d duties of the second reply", n)
	}
}
