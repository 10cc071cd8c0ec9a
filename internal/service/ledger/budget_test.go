package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// gate holds requests until they are let through, and counts those it holds.
type gate struct {
	held, most atomic.Int32
	pass       chan llm.Reply
}

func (b *bundle) gate() *gate {
	g := &gate{pass: make(chan llm.Reply)}
	b.model.answers(func(ctx context.Context, _ int, _ string) (llm.Reply, error) {
		n := g.held.Add(1)
		defer g.held.Add(-1)
		for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
		}
		select {
		case r := <-g.pass:
			return r, nil
		case <-ctx.Done():
			return llm.Reply{}, ctx.Err()
		}
	})
	return g
}

func TestARunHasAtMostSoManyCallsInFlight(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	b.Lease = time.Minute // a lease that runs out on a busy machine would free its place
	g := b.gate()
	const callers, parallel = 12, 3
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			_, err := b.Call(t.Context(), run.CallKey{Ref: b.run, Step: fmt.Sprint(i)},
				llm.Request{Model: "scripted", Messages: llm.User("hi")}, parallel)
			if err != nil {
				t.Error(err)
			}
		})
	}
	for passed := range callers {
		until(t, "the places to fill", func() bool { return g.held.Load() == int32(min(parallel, callers-passed)) })
		if n := b.number("select count(*) from llm_calls where state = 'started'"); n > parallel {
			t.Errorf("%d calls admitted, want at most %d", n, parallel)
		}
		g.pass <- said("ok")
	}
	wait.Wait()
	if n := g.most.Load(); n != parallel {
		t.Errorf("at most %d calls were in flight, want %d", n, parallel)
	}
}

func TestOneRunDoesNotWaitForAnothersPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second := b.newRun("second")
	g := b.gate()
	var wait sync.WaitGroup
	for _, ref := range []run.Ref{b.run, second} {
		wait.Go(func() {
			if _, err := b.Call(t.Context(), run.CallKey{Ref: ref, Step: "s"},
				llm.Request{Model: "scripted", Messages: llm.User("hi")}, 1); err != nil {
				t.Error(err)
			}
		})
	}
	until(t, "both calls", func() bool { return g.held.Load() == 2 })
	for range 2 {
		g.pass <- said("ok")
	}
	wait.Wait()
}

func (b *bundle) budget(of settings.Settings) {
	b.t.Helper()
	s := settings.Default()
	s.TokensPerDay, s.MicrosPerDay = of.TokensPerDay, of.MicrosPerDay
	testkit.Must(b.t, b.store.InWorkspace(b.t.Context(), b.ws.ID, func(_ context.Context, q store.Tx) error {
		return q.Workspaces().SetSettings(b.t.Context(), s)
	}))
}

// Case E14.
func TestParallelCallsNeverOverspendTheDay(t *testing.T) {
	t.Parallel()
	one := int64(100 + len(`{"schema":false,"user":"hi"}`)/4) // what ask reserves
	for name, c := range map[string]struct {
		settings settings.Settings
		model    string
		used     string
	}{
		"tokens": {settings.Settings{TokensPerDay: 5*one + 3}, "scripted",
			"select coalesce(sum(input_tokens + output_tokens), 0)::int from llm_calls"},
		"money": {settings.Settings{MicrosPerDay: settings.Spend(5*one + 3)}, "priced",
			"select coalesce(sum(cost_micros), 0)::int from llm_calls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.budget(c.settings)
			g := b.gate()
			reply := llm.Reply{Text: "ok", Model: c.model, Usage: llm.Usage{Input: int(one) - 60, Output: 60}}
			var wait sync.WaitGroup
			var done, over atomic.Int32
			for i := range 12 {
				wait.Go(func() {
					_, err := b.ask(t.Context(), fmt.Sprint(i), "hi", func(r *llm.Request) { r.Model = c.model })
					switch {
					case err == nil:
						done.Add(1)
					case fault.CodeOf(err) == fault.QuotaExceeded:
						over.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			until(t, "all calls to be admitted or refused", func() bool { return g.held.Load()+over.Load() == 12 })
			if n := g.held.Load(); n != 5 {
				t.Errorf("%d calls in flight on a budget for 5", n)
			}
			for range g.held.Load() {
				g.pass <- reply
			}
			wait.Wait()
			if used := b.number(c.used); int64(used) > 5*one+3 || done.Load() != 5 {
				t.Errorf("%d calls used %d of %d", done.Load(), used, 5*one+3)
			}
			if _, err := b.ask(t.Context(), "late", "hi", func(r *llm.Request) {
				r.Model = c.model
			}); fault.CodeOf(err) != fault.QuotaExceeded {
				t.Errorf("on a spent budget: %v, want %s", err, fault.QuotaExceeded)
			}
			if n := b.number("select count(*) from llm_calls where step = 'late'"); n != 0 {
				t.Error("a refused call is in the ledger")
			}
		})
	}
}

func TestWhatACallDidNotUseIsGivenBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := int64(100 + len(`{"schema":false,"user":"hi"}`)/4)
	b.budget(settings.Settings{TokensPerDay: one + 2*15}) // room for one at a time, each using 15
	b.model.answers(func(_ context.Context, n int, _ string) (llm.Reply, error) {
		if n == 1 {
			return llm.Reply{}, &llm.Error{Class: llm.Fatal, Status: 400, Sent: true, Message: "no"}
		}
		return said("ok"), nil
	})
	_, _ = b.ask(t.Context(), "fails", "hi")
	for i := range 3 {
		if _, err := b.ask(t.Context(), fmt.Sprint(i), "hi"); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if _, err := b.ask(t.Context(), "more", "hi"); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("after three calls: %v, want %s", err, fault.QuotaExceeded)
	}
	if r, err := b.ask(t.Context(), "1", "hi"); err != nil || r.Text != "ok" {
		t.Errorf("a stored reply costs nothing: %+v, %v", r, err)
	}
}

// A call from yesterday that is repeated today uses the budget of today.
func TestTheDayOfTheRequestPays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.Fatal, Status: 400, Sent: true, Message: "no"}
	})
	_, _ = b.ask(t.Context(), "old", "hi")
	_, err := b.admin.Exec(t.Context(), "update llm_calls set created_at = now() - interval '2 days', sent_at = "+
		"now() - interval '2 days'")
	testkit.Must(t, err)
	b.model.answers(nil)
	if _, err := b.ask(t.Context(), "old", "hi"); err != nil {
		t.Fatal(err)
	}
	b.budget(settings.Settings{TokensPerDay: 15 + 100})
	if _, err := b.ask(t.Context(), "new", "hi"); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("%v, want %s: 15 tokens were used today", err, fault.QuotaExceeded)
	}
}

func TestAPricedCallKeepsItsCost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		r := said("ok")
		r.Model = "priced"
		return r, nil
	})
	_, err := b.ask(t.Context(), "s", "hi")
	testkit.Must(t, err)
	if c := b.row("s"); c.CostMicros == nil || *c.CostMicros != 15 {
		t.Errorf("ledger %+v, want 15 micro-dollars", c)
	}
}
