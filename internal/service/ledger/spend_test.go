package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// costs makes each reply cost so many micro-dollars.
func (b *bundle) costs(micros int) {
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		return llm.Reply{Text: "ok", Model: "priced", Usage: llm.Usage{Input: micros - 1, Output: 1}}, nil
	})
}

func priced(r *llm.Request) { r.Model = "priced" }

// needs is what a priced request reserves, in micro-dollars and in tokens.
const needs = 100 + len(`{"schema":false,"user":"hi"}`)/4

// runIn makes a run in another workspace.
func (b *bundle) runIn(name string) run.Ref {
	b.t.Helper()
	ws, err := b.store.Workspace(b.t.Context(), name, true)
	testkit.Must(b.t, err)
	return b.runOf(ws)
}

func (b *bundle) runOf(ws access.Workspace) run.Ref {
	b.t.Helper()
	return accept(b.t, b.store, ws)
}

// accept makes a run in a workspace.
func accept(t testing.TB, db *store.Store, ws access.Workspace) run.Ref {
	t.Helper()
	r, _, err := db.Accept(t.Context(),
		distillation.AcceptedRequest{Workspace: ws.ID, Key: "r", Spec: []byte("{}"), Channel: "import",
			Conversation: transcript.Conversation{ID: "c",
				Messages: []transcript.Message{{Role: transcript.User, Content: "x"}}},
			WorkflowID: func(int, int) string { return ws.Name }})
	testkit.Must(t, err)
	return r.Ref
}

func (b *bundle) askIn(ref run.Ref, step string) error {
	b.t.Helper()
	_, err := b.Call(b.t.Context(), run.CallKey{Ref: ref, Step: step}, llm.Request{Model: "priced",
		Messages: llm.User("hi"), MaxTokens: 100}, 0)
	return err
}

func TestAWorkspaceSpendsFiveDollarsADayUnlessItChooses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Prices["free"] = llm.Price{}
	b.costs(int(settings.DefaultSpend) - needs)
	for _, step := range []string{"first", "at the limit"} {
		if step != "first" {
			b.costs(needs)
		}
		if _, err := b.ask(t.Context(), step, "hi", priced); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	_, err := b.ask(t.Context(), "over", "hi", priced)
	f := fault.From(err)
	if f == nil || f.Code != fault.QuotaExceeded || !strings.Contains(f.Message, "5 $ of micros_per_day") ||
		!strings.Contains(f.Message, "`cairn settings set micros_per_day=10000000`") || f.Hint == "" {
		t.Fatalf("%+v", f)
	}
	if n := b.number("select count(*) from llm_calls where step = 'over'"); n != 0 {
		t.Error("a refused call is in the ledger")
	}
	for _, model := range []string{"offline", "without-a-price", "free"} {
		b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
			return llm.Reply{Text: "ok", Model: model, Usage: llm.Usage{Input: 10, Output: 5}}, nil
		})
		if _, err := b.ask(t.Context(), model, "hi", func(r *llm.Request) { r.Model = model }); err != nil {
			t.Errorf("%s costs nothing and is refused: %v", model, err)
		}
	}
	b.spend(settings.Unlimited)
	if _, err := b.ask(t.Context(), "over", "hi", priced); err != nil {
		t.Errorf("unlimited: %v", err)
	}
	b.spend(0)
	if _, err := b.ask(t.Context(), "none", "hi", priced); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("with a limit of 0: %v", err)
	}
	if _, err := b.ask(t.Context(), "free again", "hi"); err != nil {
		t.Errorf("a call without a price, with a limit of 0: %v", err)
	}
}

func (b *bundle) spend(limit settings.Spend) {
	b.t.Helper()
	s := settings.Default()
	s.MicrosPerDay = limit
	testkit.Must(b.t, b.store.InWorkspace(b.t.Context(), b.ws.ID, func(ctx context.Context, q store.Tx) error {
		return q.Workspaces().SetSettings(ctx, s)
	}))
}

// The outcome of a first attempt is unknown, so it may be paid. Its retry uses the same reservation.
func TestARetryAtTheLimitIsNotRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.budget(settings.Settings{TokensPerDay: int64(needs), MicrosPerDay: settings.Spend(needs)})
	b.Cap = settings.Spend(needs)
	admitted, err := b.Prepare(
		run.CallKey{Ref: b.run, Step: "s"},
		llm.Request{
			Model:     "priced",
			Messages:  llm.User("hi"),
			MaxTokens: 100,
			Label:     llm.Label{Stage: "test", Task: "s"},
		},
		0,
	)
	testkit.Must(t, err)
	admitted.Lease = 0 // of an attempt that died
	_, err = b.store.BeginCall(t.Context(), admitted)
	testkit.Must(t, err)
	if _, err := b.ask(t.Context(), "another", "hi", priced); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("another call beyond the limit: %v", err)
	}
	b.costs(needs)
	for range 2 { // the second returns the stored reply
		if r, err := b.ask(t.Context(), "s", "hi", priced); err != nil || r.Text != "ok" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if n := len(b.model.sent); n != 1 {
		t.Errorf("%d requests after the first attempt, want 1", n)
	}
	if n := b.number("select sum(micros)::int from deployment_spend"); n != needs {
		t.Errorf("%d micro-dollars are counted, want %d", n, needs)
	}
	if c := b.row("s"); c.CostMicros == nil || *c.CostMicros != int64(needs) || c.Attempts != 2 {
		t.Errorf("ledger %+v", c)
	}
}

func TestTheCapOfTheDeploymentCountsAllWorkspaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const room = 5
	b.Cap = settings.Spend(room*needs + needs/2)
	refs := []run.Ref{b.run, b.runIn("two"), b.runIn("three")}
	g := b.gate()
	var wait sync.WaitGroup
	var over atomic.Int32
	for i := range 12 {
		if i == len(refs) { // each workspace has a call in flight
			until(t, "the first calls to be admitted", func() bool { return int(g.held.Load()) == len(refs) })
		}
		wait.Go(func() {
			err := b.askIn(refs[i%len(refs)], fmt.Sprint(i))
			if f := fault.From(err); f != nil {
				over.Add(1)
				if f.Code != fault.QuotaExceeded || !strings.Contains(f.Message, "CAIRN_MICROS_PER_DAY") ||
					f.Hint == "" ||
					strings.Contains(f.Message, "$") { // a tenant does not see what others spend
					t.Error(err)
				}
			}
		})
	}
	until(t, "all calls to be admitted or refused", func() bool { return g.held.Load()+over.Load() == 12 })
	if n := g.held.Load(); n != room {
		t.Errorf("%d calls in flight under a cap for %d", n, room)
	}
	for range g.held.Load() {
		g.pass <- llm.Reply{Text: "ok", Model: "priced", Usage: llm.Usage{Input: needs - 1, Output: 1}}
	}
	wait.Wait()
	if n := b.number("select sum(micros)::int from deployment_spend"); n != room*needs {
		t.Errorf("%d micro-dollars are counted, want %d", n, room*needs)
	}
	if n := b.number("select count(distinct part)::int from deployment_spend"); n != len(refs) {
		t.Errorf("counted in %d parts", n)
	}
	if err := b.askIn(refs[1], "late"); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("above the cap: %v", err)
	}
	b.model.answers(nil)
	if _, err := b.ask(t.Context(), "free", "hi"); err != nil {
		t.Errorf("a call that costs nothing: %v", err)
	}
	b.Cap = settings.Unlimited
	if err := b.askIn(refs[1], "late"); err != nil {
		t.Errorf("without a cap: %v", err)
	}
}

// What a failed call had reserved is given back, and a call of another day is charged to its day.
func TestTheCapCountsWhatWasSpentOnTheDay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Cap = settings.Spend(needs)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.Fatal, Status: 400, Sent: true, Message: "no"}
	})
	for range 2 {
		if err := b.askIn(b.run, "fails"); err == nil || fault.CodeOf(err) == fault.QuotaExceeded {
			t.Fatal(err)
		}
	}
	b.costs(needs)
	testkit.Must(t, b.askIn(b.run, "fails"))
	if err := b.askIn(b.run, "more"); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Fatalf("above the cap: %v", err)
	}
	_, err := b.admin.Exec(t.Context(), "update llm_calls set sent_at = sent_at - interval '1 day'")
	testkit.Must(t, err)
	days := "select count(*)::int from deployment_spend where micros = $1 and " +
		"day = (now() at time zone 'UTC')::date - $2::int"
	if b.number(days, needs, 1) != 1 || b.number(days, 0, 0) != 1 {
		t.Error("the cost is not charged to the day of the request")
	}
	testkit.Must(t, b.askIn(b.run, "more"))
}
