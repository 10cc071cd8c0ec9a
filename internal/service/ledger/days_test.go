package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/pgtest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// fill stores n answered calls of today in the workspace of a run.
func (b *bundle) fill(ref run.Ref, n int) {
	b.t.Helper()
	_, err := b.admin.Exec(b.t.Context(), `insert into llm_calls (workspace_id, run_id, step, round, state, stage,
  model, label, request, request_sha, holder, lease_until, reply, input_tokens, output_tokens, cost_micros)
select $1, $2, 'filled/' || i, 0, 'done', 's', 'priced', '{}', '{x}', '', gen_random_uuid(), now(), 'x', 10, 5,
  15
from generate_series(1, $3::int) i`, ref.Workspace, ref.Run, n)
	testkit.Must(b.t, err)
}

// The cost of an admission does not depend on the calls that the day has had.
func TestAnAdmissionReadsNoOtherCallsOfTheDay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const before, admitted = 5000, 20
	b.fill(b.run, before)
	b.budget(settings.Settings{TokensPerDay: 1_000_000, MicrosPerDay: 1_000_000})
	b.Cap = 1_000_000
	_, err := b.admin.Exec(t.Context(), "analyze llm_calls")
	testkit.Must(t, err)
	read := func() int {
		return b.number("select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) + (select sum(idx_tup_read) " +
			"from pg_stat_user_indexes i where i.relid = t.relid) from pg_stat_user_tables t " +
			"where relname = 'llm_calls'")
	}
	start := read()
	for i := range admitted {
		_, err := b.ask(t.Context(), fmt.Sprint(i), "hi", priced)
		testkit.Must(t, err)
	}
	b.store.Close() // which makes its connections report what they have read
	until(t, "the statistics", func() bool {
		return b.number("select n_tup_upd from pg_stat_user_tables where relname = 'llm_calls'") >= admitted
	})
	if n := read() - start; n > admitted*100 {
		t.Errorf("%d admissions after %d calls have read %d rows of the ledger", admitted, before, n)
	}
}

// differ returns the days whose sums are not those of the ledger.
func (b *bundle) differ() (out []string) {
	b.t.Helper()
	rows, err := b.admin.Query(b.t.Context(), `with ledger as (
  select workspace_id, (sent_at at time zone 'UTC')::date as day,
    sum(input_tokens + output_tokens + reserved)::bigint as tokens,
    sum(coalesce(cost_micros, 0) + reserved_micros)::bigint as micros from llm_calls group by 1, 2
), deployment as (select sum(micros)::bigint as micros from deployment_spend)
select format('workspace %s on %s: %s tokens, %s micros; the ledger has %s, %s', workspace_id, day, d.tokens, d.micros,
  l.tokens, l.micros)
from call_days d full join ledger l using (workspace_id, day)
where coalesce(d.tokens - d.removed_tokens, 0) <> coalesce(l.tokens, 0)
  or coalesce(d.micros - d.removed_micros, 0) <> coalesce(l.micros, 0)
union all
select format('the deployment: %s micros', s.micros) from deployment s
where s.micros <> (select sum(micros) from call_days)`)
	testkit.Must(b.t, err)
	defer rows.Close()
	for rows.Next() {
		var line string
		testkit.Must(b.t, rows.Scan(&line))
		out = append(out, line)
	}
	testkit.Must(b.t, rows.Err())
	return out
}

// dies makes a call whose worker dies before the reply.
func (b *bundle) dies(ref run.Ref, step string) {
	b.t.Helper()
	w, err := b.Prepare(run.CallKey{Ref: ref, Step: step}, llm.Request{Model: "priced", Messages: llm.User("hi"),
		MaxTokens: 100, Label: llm.Label{Stage: "test", Task: step}}, 0)
	testkit.Must(b.t, err)
	w.Lease = 0
	a, err := b.store.BeginCall(b.t.Context(), w)
	if err != nil || a.Verdict != modelcall.Send {
		b.t.Fatalf("%+v, %v", a, err)
	}
}

// Whatever becomes of calls, what a day has used is what the ledger says.
func TestTheSumsOfADayEqualTheLedger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Cap = settings.Spend(100_000_000)
	b.model.answers(func(_ context.Context, n int, _ string) (llm.Reply, error) {
		switch n % 4 {
		case 0:
			return llm.Reply{}, &llm.Error{Class: llm.Fatal, Status: 400, Sent: true, Message: "no"}
		case 1:
			return llm.Reply{}, context.Canceled
		}
		return llm.Reply{Text: "ok", Model: "priced", Usage: llm.Usage{Input: 40, Output: 2}}, nil
	})
	refs := []run.Ref{b.run, b.newRun("second"), b.runIn("two"), b.runIn("three")}
	var wait sync.WaitGroup
	for caller := range 16 {
		wait.Go(func() {
			for i := range 12 {
				ref, step := refs[(caller+i)%len(refs)], fmt.Sprintf("%d/%d", caller, i)
				switch {
				case i%4 == 0:
					b.dies(ref, step)
				case i%4 == 1: // taken over from a dead worker
					b.dies(ref, step)
					_ = b.askIn(ref, step)
				default:
					for range 2 {
						_ = b.askIn(ref, step)
					}
				}
			}
		})
	}
	wait.Wait()
	for range 2 { // the second look finds nothing
		_, err := b.store.Outbox().ExpireCalls(t.Context(), 0)
		testkit.Must(t, err)
	}
	for _, line := range b.differ() {
		t.Error(line)
	}
	if n := b.number("select count(*) from llm_calls where state = 'unknown' and reserved > 0"); n < 16 {
		t.Errorf("%d calls of dead workers are unknown", n)
	}
	used := b.number("select sum(tokens)::int from call_days")
	for _, sql := range []string{"update runs set status = 'ended', outcome = 'failed', reason = 'test'",
		"update llm_calls set created_at = now() - interval '2 days' where step like '1%'",
		"delete from llm_calls where step like '2/%'"} {
		_, err := b.admin.Exec(t.Context(), sql)
		testkit.Must(t, err)
	}
	for n := int64(1); n > 0; {
		var err error
		n, err = b.store.Pruner().PruneCalls(t.Context(), 24*time.Hour)
		testkit.Must(t, err)
	}
	if n := b.number("select count(*) from llm_calls where step like '1%' or step like '2/%'"); n != 0 {
		t.Fatalf("%d calls are left", n)
	}
	for _, line := range b.differ() {
		t.Error(line)
	}
	if n := b.number("select sum(tokens)::int from call_days"); n != used {
		t.Errorf("the day has used %d tokens, %d before calls were removed", n, used)
	}
}

// Callers in many workspaces do not overspend the limit of the deployment, whether they wait for each other or not.
func TestManyWorkspacesNeverOverspendTheDeployment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		return llm.Reply{Text: "ok", Model: "priced", Usage: llm.Usage{Input: needs - 1, Output: 1}}, nil
	})
	conns := b.number("select current_setting('max_connections')::int")
	room := 8 * conns     // small calls share the lock until a quarter of this is left
	left := 2*conns + 100 // at the start
	const callers, over = 8, 60
	b.Cap = settings.Spend(room * needs)
	refs := []run.Ref{b.run, b.runIn("two"), b.runIn("three"), b.runIn("four")}
	_, err := b.admin.Exec(t.Context(), `insert into deployment_spend (day, part, micros)
values ((now() at time zone 'UTC')::date, 15, $1)`, (room-left)*needs)
	testkit.Must(t, err)
	var wait sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for caller := range callers {
		wait.Go(func() {
			for i := caller; i < left+over; i += callers {
				err := b.askIn(refs[caller%len(refs)], fmt.Sprint(i))
				mu.Lock()
				if fault.CodeOf(err) == fault.QuotaExceeded {
					refused++
				} else if err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if n := b.number("select sum(micros)::int from deployment_spend"); refused != over || n != room*needs {
		t.Errorf("%d calls are refused, and %d micro-dollars are counted; want %d and %d", refused, n, over, room*needs)
	}
}

// BenchmarkDayOfAdmissions measures 16 callers who share 10,000 admissions of a day in four workspaces with limits of
// tokens and cost and a limit of the deployment: the median of the first 1,000 and of the last 1,000.
func BenchmarkDayOfAdmissions(b *testing.B) {
	const callers, calls, edge = 16, 10_000, 1000
	for range b.N {
		url := pgtest.Database(b)
		db, err := store.Open(b.Context(), url, store.Options{MaxConns: callers})
		testkit.Must(b, err)
		var refs []run.Ref
		for i := range 4 {
			refs = append(refs, limited(b, db, fmt.Sprintf("w%d", i)))
		}
		yesterday(b, url, refs)
		took := make([]time.Duration, calls)
		next := make(chan int)
		var wait sync.WaitGroup
		for range callers {
			wait.Go(func() {
				for i := range next {
					took[i] = admission(b, db, refs[i%len(refs)], fmt.Sprint(i))
				}
			})
		}
		began := time.Now()
		for i := range calls {
			next <- i
		}
		close(next)
		wait.Wait()
		b.ReportMetric(time.Since(began).Seconds(), "s/day")
		b.ReportMetric(median(took[:edge]), "first-ms")
		b.ReportMetric(median(took[calls-edge:]), "last-ms")
		db.Close()
	}
}

// yesterday stores 1,000 calls of the day before for each run. A database without statistics would choose other plans.
func yesterday(b *testing.B, url string, refs []run.Ref) {
	b.Helper()
	admin, err := pgx.Connect(b.Context(), url)
	testkit.Must(b, err)
	defer admin.Close(b.Context())
	for _, ref := range refs {
		_, err := admin.Exec(b.Context(), `insert into cairn.llm_calls (workspace_id, run_id, step, round, state, stage,
  model, label, request, request_sha, holder, lease_until, reply, sent_at)
select $1, $2, 'old/' || i, 0, 'done', 's', 'priced', '{}', '{x}', '', gen_random_uuid(), now(), 'x',
  now() - interval '1 day'
from generate_series(1, 1000) i`, ref.Workspace, ref.Run)
		testkit.Must(b, err)
	}
	_, err = admin.Exec(b.Context(), "analyze")
	testkit.Must(b, err)
}

// limited makes a run in a workspace with limits of tokens and cost.
func limited(b *testing.B, db *store.Store, name string) run.Ref {
	b.Helper()
	ws, err := db.Workspace(b.Context(), name, true)
	testkit.Must(b, err)
	testkit.Must(b, db.InWorkspace(b.Context(), ws.ID, func(ctx context.Context, q store.Tx) error {
		s := settings.Default()
		s.TokensPerDay, s.MicrosPerDay = 1_000_000_000, 1_000_000_000
		return q.Workspaces().SetSettings(ctx, s)
	}))
	return accept(b, db, ws)
}

// admission makes a call and returns the time of its admission.
func admission(b *testing.B, db *store.Store, ref run.Ref, step string) time.Duration {
	w := modelcall.Request{Key: run.CallKey{Ref: ref, Step: step}, Lease: time.Minute, Reserve: 1000, Micros: 1000,
		Cap: 1_000_000_000, Request: llm.PreparedRequest{Model: "priced", Body: []byte(`{"user":"hi"}`)}}
	began := time.Now()
	a, err := db.BeginCall(b.Context(), w)
	took := time.Since(began)
	if err != nil || a.Verdict != modelcall.Send {
		b.Errorf("%+v, %v", a, err)
		return took
	}
	cost := int64(500)
	if _, err := db.EndCall(b.Context(), w.Key, llm.Reply{Text: "ok", Model: "priced",
		Usage: llm.Usage{Input: 400, Output: 100}}, &cost); err != nil {
		b.Error(err)
	}
	return took
}

// median is in milliseconds.
func median(of []time.Duration) float64 {
	of = slices.Clone(of)
	slices.Sort(of)
	return float64(of[len(of)/2].Microseconds()) / 1000
}
