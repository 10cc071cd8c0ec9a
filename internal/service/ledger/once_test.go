package ledger_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/testkit"
)

func TestASecondCallReturnsTheStoredReply(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want := llm.Reply{Text: "hello", Refusal: "no", Finish: "tool_calls", Calls: []llm.ToolCall{
		{ID: "call_0", Name: "memory_save", Arguments: `{ "b" : 1.0, "a":"退款 \u0041" }`},
		{ID: "x", Name: "memory_save", Arguments: `{"cut`}, {ID: "y", Name: "memory_list"}},
		Model: "other", Usage: llm.Usage{Input: 7, Output: 3, Estimated: true}}
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) { return want, nil })
	for range 3 {
		if got, err := b.ask(t.Context(), "s", "hi"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if n := len(b.model.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if c := b.row("s"); c.State != run.CallDone || c.Attempts != 1 || c.Unknown != 0 || c.Input != 7 || c.Output != 3 ||
		!c.Estimated || c.CostMicros != nil {
		t.Errorf("ledger: %+v", c)
	}
}

func TestStepsRoundsAndRunsHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second := b.newRun("second")
	replies := map[string]bool{}
	for _, k := range []run.CallKey{{Ref: b.run, Step: "a"}, {Ref: b.run, Step: "a", Round: 1}, {Ref: b.run, Step: "b"},
		{Ref: second, Step: "a"}} {
		r, err := b.Call(t.Context(), k, llm.Request{Model: "scripted", Messages: llm.User("the same")}, 0)
		testkit.Must(t, err)
		replies[r.Text] = true
	}
	if len(replies) != 4 || len(b.model.requests()) != 4 {
		t.Errorf("replies %v to %d requests, want 4", replies, len(b.model.requests()))
	}
}

func TestTwoCallsAtOnceMakeOneRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inside, leave := make(chan bool), make(chan bool)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		inside <- true
		<-leave
		return said("hello"), nil
	})
	first := make(chan error, 1)
	go func() { _, err := b.ask(t.Context(), "s", "hi"); first <- err }()
	<-inside
	_, err := b.ask(t.Context(), "s", "hi")
	if e := busy(err); e == nil || e.After <= 0 || e.After > lease {
		t.Errorf("second attempt: %v, want a retry within %s", err, lease)
	}
	close(leave)
	testkit.Must(t, <-first)
	if r, err := b.ask(t.Context(), "s", "hi"); err != nil || r.Text != "hello" {
		t.Errorf("after the first: %+v, %v", r, err)
	}
	if n := len(b.model.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestALeaseIsKeptAliveDuringALongCall(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	leave := make(chan bool)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) { <-leave; return said("late"), nil })
	first := make(chan error, 1)
	go func() { _, err := b.ask(t.Context(), "s", "hi"); first <- err }()
	until(t, "the call", func() bool { return len(b.model.requests()) == 1 })
	until(t, "three leases", func() bool {
		if _, err := b.ask(t.Context(), "s", "hi"); busy(err) == nil {
			t.Fatalf("during the call: %v", err)
		}
		return b.number("select count(*) from llm_calls where now() > created_at + 3 * $1::interval", lease) == 1
	})
	close(leave)
	testkit.Must(t, <-first)
	if c := b.row("s"); c.State != run.CallDone || c.Attempts != 1 || len(b.model.requests()) != 1 {
		t.Errorf("ledger %+v, %d requests", c, len(b.model.requests()))
	}
}

// Case E5: a deploy changed the prompt between the crash and the retry.
func TestAfterACrashTheStoredRequestIsSentAgain(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) { panic("killed") })
	func() {
		defer func() { _ = recover() }()
		_, _ = b.ask(t.Context(), "s", "old prompt")
	}()
	if _, err := b.ask(t.Context(), "s", "new prompt"); busy(err) == nil {
		t.Errorf("before the lease ends: %v", err)
	}
	b.untilExpired("s")
	b.model.answers(nil)
	r, err := b.ask(t.Context(), "s", "new prompt")
	testkit.Must(t, err)
	sent := b.model.requests()
	if len(sent) != 2 || sent[1] != sent[0] {
		t.Errorf("sent %q, want the first request twice, byte for byte", sent)
	}
	if c := b.row("s"); c.State != run.CallDone || c.Attempts != 2 || c.Unknown != 1 {
		t.Errorf("ledger %+v, want 2 attempts of which 1 unknown", c)
	}
	if again, err := b.ask(t.Context(), "s", "newest prompt"); err != nil || again.Text != r.Text {
		t.Errorf("once more: %+v, %v", again, err)
	}
}

// Case E3: the worker lost its heartbeat, not its life.
func TestAZombieAndItsSuccessorAgreeOnTheFirstStoredReply(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, zombieFirst := range []bool{false, true} {
		t.Run(map[bool]string{true: "the zombie's", false: "the successor's"}[zombieFirst], func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			leave := []chan bool{make(chan bool), make(chan bool)}
			b.model.answers(func(_ context.Context, n int, _ string) (llm.Reply, error) {
				<-leave[n-1]
				return said([]string{"zombie", "successor"}[n-1]), nil
			})
			type answer struct {
				llm.Reply
				error
			}
			answers := []chan answer{make(chan answer, 1), make(chan answer, 1)}
			ctx, lose := context.WithCancel(t.Context())
			call := func(ctx context.Context, i int) {
				r, err := b.ask(ctx, "s", "hi")
				answers[i] <- answer{r, err}
			}
			go call(ctx, 0)
			until(t, "the first request", func() bool { return len(b.model.requests()) == 1 })
			lose() // it stops renewing its lease, and the endpoint takes no notice
			b.untilExpired("s")
			go call(t.Context(), 1)
			until(t, "the second request", func() bool { return len(b.model.requests()) == 2 })
			order, want := []int{1, 0}, "successor"
			if zombieFirst {
				order, want = []int{0, 1}, "zombie"
			}
			for _, i := range order {
				close(leave[i])
				a := <-answers[i]
				testkit.Must(t, a.error)
				if a.Text != want {
					t.Errorf("attempt %d goes on with %q, want %q", i+1, a.Text, want)
				}
			}
			if c := b.row("s"); c.State != run.CallDone || c.Attempts != 2 || c.Unknown != 1 || c.Input != 10 {
				t.Errorf("ledger %+v", c)
			}
		})
	}
}

// The failure of an outdated attempt does not affect the call of its successor.
func TestAZombiesFailureDoesNotEndItsSuccessorsCall(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	leave := []chan bool{make(chan bool), make(chan bool)}
	b.model.answers(func(_ context.Context, n int, _ string) (llm.Reply, error) {
		<-leave[n-1]
		if n == 1 {
			return llm.Reply{}, &llm.Error{Class: llm.Fatal, Status: 400, Sent: true, Message: "zombie"}
		}
		return said("successor"), nil
	})
	ctx, lose := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := b.ask(ctx, "s", "hi"); first <- err }()
	until(t, "the first request", func() bool { return len(b.model.requests()) == 1 })
	lose()
	b.untilExpired("s")
	go func() { _, err := b.ask(t.Context(), "s", "hi"); second <- err }()
	until(t, "the second request", func() bool { return len(b.model.requests()) == 2 })
	close(leave[0])
	if err := <-first; err == nil {
		t.Error("the zombie's failure was swallowed")
	}
	if c := b.row("s"); c.State != run.CallStarted {
		t.Errorf("ledger %+v, want the successor's call still open", c)
	}
	close(leave[1])
	testkit.Must(t, <-second)
}

func TestAPaidReplyIsStoredForACallerThatHasGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) { cancel(); return said("paid"), nil })
	if r, err := b.ask(ctx, "s", "hi"); err != nil || r.Text != "paid" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := b.ask(t.Context(), "s", "hi"); err != nil || r.Text != "paid" || len(b.model.requests()) != 1 {
		t.Errorf("afterwards %+v, %v and %d requests", r, err, len(b.model.requests()))
	}
}

func TestACancelledCallIsUnknownAndFreeAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("stop"))
	b.model.answers(func(ctx context.Context, _ int, _ string) (llm.Reply, error) {
		cancel()
		<-ctx.Done()
		return llm.Reply{}, &llm.Error{Class: llm.Retryable, Sent: true, Message: "interrupted"}
	})
	if _, err := b.ask(ctx, "s", "hi"); err == nil {
		t.Error("a cancelled call gave a reply")
	}
	if c := b.row("s"); c.State != run.CallFailed || c.Unknown != 1 {
		t.Errorf("ledger %+v, want failed with 1 unknown", c)
	}
	b.model.answers(nil)
	if _, err := b.ask(t.Context(), "s", "hi"); err != nil {
		t.Errorf("right after: %v", err)
	}
}
