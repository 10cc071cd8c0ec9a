package store_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/scheduled"
	"cairn/internal/lab/pgtest"
	"cairn/internal/store"
	"cairn/internal/store/dbsqlc"
	"cairn/internal/testkit"
)

func TestWhatNeedsALookIsCountedAcrossWorkspaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.seed(b.b)
	b.exec("update runs set opened_at = now() - interval '1 hour' where workspace_id = $1", b.a.ID)
	b.exec("update outbox set created_at = now() - interval '1 minute' where workspace_id = $1", b.b.ID)
	b.exec("insert into outbox (workspace_id, kind, key) values ($1, 'embed', '1')", b.a.ID)
	b.exec("insert into runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome, "+
		"opened_at) values ($1, "+pgtest.RunID+", 'distill', 'done', 'x', '{}', 'w', 'ended', 'completed', "+
		"now() - interval '1 year')",
		b.a.ID)
	b.exec("update llm_calls set state = 'unknown' where workspace_id = $1", b.a.ID)
	b.exec("update scheduled_tasks set due_at = now() - interval '10 minutes', due_date = current_date, due_key = "+
		"'k' where workspace_id = $1 and kind = 'curate'", b.a.ID)
	b.exec("update scheduled_tasks set due_at = now() - interval '3 days', due_date = current_date, due_key = 'k', "+
		"paused_at = now() where workspace_id = $1 and kind = 'curate'", b.b.ID)
	for n := 1; n <= 4; n++ { // days of failures in a row
		b.exec("insert into reflection_runs (workspace_id, local_date, zone, status, to_at, failures) values ($1, "+
			"current_date - 100 - $2::int, 'UTC', 'failed', now(), $2)", b.a.ID, n)
	}
	got, err := b.Backlog(t.Context())
	testkit.Must(t, err)
	around := func(what string, w readmodel.Waiting, count int64, oldest time.Duration) {
		t.Helper()
		if w.Count != count || w.Oldest < oldest || w.Oldest > oldest+time.Minute {
			t.Errorf("%s: %+v, want %d of %s", what, w, count, oldest)
		}
	}
	around("open runs", got.Runs[run.Distill], 2, time.Hour)
	around("runs to drive", got.Duties[outbox.DriveRun], 2, time.Minute)
	around("texts to embed", got.Duties[outbox.EmbedDoc], 1, 0)
	around("tasks due", got.Due[scheduled.Curate], 1, 10*time.Minute)
	if got.FailedDays != 2 {
		t.Errorf("%d days were given up, want 2", got.FailedDays)
	}
	if got.UnknownCalls != 1 {
		t.Errorf("%d unknown calls, want 1", got.UnknownCalls)
	}
}

// The age of a retried run does not start at its creation.
func TestARetryCountsTheAgeOfARunAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.exec("update runs set created_at = now() - interval '1 week', opened_at = now() - interval '1 week'")
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		runs, err := q.Runs().Runs(ctx, 1)
		if err != nil {
			return err
		}
		if err := q.Runs().EndRun(ctx, runs[0].Ref.Run, run.Completed, "", nil); err != nil {
			return err
		}
		return q.Runs().Reopen(ctx, runs[0].Run, "w2")
	})
	got, err := b.Backlog(t.Context())
	if w := got.Runs[run.Distill]; err != nil || w.Count != 1 || w.Oldest > time.Minute {
		t.Errorf("%+v, %v", got, err)
	}
}

// A kind without waiting rows still has a series: an alarm on a missing series never fires.
func TestEachKindIsCountedWhenNothingWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got, err := b.Backlog(t.Context())
	testkit.Must(t, err)
	kinds := func(table string) (out []string) {
		for _, m := range regexp.MustCompile(`'(\w+)'`).
			FindAllStringSubmatch(b.texts("select pg_get_constraintdef(oid) from pg_constraint where conname = $1",
				table+"_kind_check")[0], -1) {
			out = append(out, m[1])
		}
		return out
	}
	b.exec("update scheduled_tasks set due_at = now() + interval '1 day', due_date = current_date, due_key = 'k'")
	if got, err = b.Backlog(t.Context()); err != nil {
		t.Fatal(err)
	}
	var runs, duties, tasks []string
	for kind, w := range got.Due {
		if tasks = append(tasks, string(kind)); w != (readmodel.Waiting{}) {
			t.Errorf("%s: %+v", kind, w)
		}
	}
	compare(t, "kinds of scheduled tasks", tasks, kinds("scheduled_tasks"))
	for kind, w := range got.Runs {
		if runs = append(runs, string(kind)); w != (readmodel.Waiting{}) {
			t.Errorf("%s: %+v", kind, w)
		}
	}
	for kind, w := range got.Duties {
		if duties = append(duties, kind); w != (readmodel.Waiting{}) {
			t.Errorf("%s: %+v", kind, w)
		}
	}
	compare(t, "kinds of runs", runs, kinds("runs"))
	compare(t, "kinds of duties", duties, kinds("outbox"))
}

func TestTheSystemRoleSeesOpenRunsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	system := b.as("cairn_system")
	if n := system.number("select count(*) from (select kind, status, opened_at from runs) x"); n != 1 {
		t.Errorf("sees %d open runs, want 1", n)
	}
	b.exec("update runs set status = 'ended', outcome = 'completed'")
	if n := system.number("select count(*) from (select kind from runs) x"); n != 0 {
		t.Errorf("sees %d ended runs", n)
	}
	system.refuses("42501", "update runs set kind = 'distill'")
}

// The cost of the counts depends on open rows, not on history.
func TestALookoutReadsWhatIsOpenByIndex(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("insert into runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome) "+
		"select $1, "+pgtest.RunID+", 'distill', i::text, 'x', '{}', 'w', 'ended', 'completed' "+
		"from generate_series(1, 5000) i", b.a.ID)
	b.exec("insert into llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request, " +
		"request_sha, holder, lease_until, reply) select workspace_id, id, 's', 0, 'done', 's', 'm', '{}', '{}', '', " +
		"gen_random_uuid(), now(), '' from runs")
	b.exec("analyze runs, llm_calls")
	system := b.as("cairn_system")
	for statement, index := range map[string]string{
		"select kind, count(*), min(opened_at) from runs where status <> 'ended' group by kind": "runs_open",
		"select count(*), min(lease_until) from llm_calls where state = 'unknown'":              "llm_calls_unknown",
	} {
		system.readsBy(statement, index)
	}
}

// readsBy checks that the plan of a statement uses an index.
func (s *session) readsBy(statement, index string) {
	s.t.Helper()
	rows, err := s.conn.Query(s.t.Context(), "explain "+statement)
	testkit.Must(s.t, err)
	var plan []string
	for rows.Next() {
		var line string
		testkit.Must(s.t, rows.Scan(&line))
		plan = append(plan, line)
	}
	testkit.Must(s.t, rows.Err())
	if !slices.ContainsFunc(plan, func(line string) bool {
		return regexp.MustCompile(` using ` + index + ` `).MatchString(line)
	}) {
		s.t.Errorf("%s: %q", statement, plan)
	}
}

// The console lists the first tasks of a workspace without sorting all of them, and the relay claims by due time.
func TestTheOutboxIsListedByIndex(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(
		"insert into outbox (workspace_id, kind, key, due_at) select $1, 'embed', i::text, now() + interval '1 day' "+
			"from generate_series(1, 20000) i",
		b.a.ID,
	)
	b.exec("analyze outbox")
	app := b.as("cairn_app")
	app.do(fmt.Sprintf("set cairn.workspace = '%d'", b.a.ID))
	app.readsBy(
		fmt.Sprintf("select id, kind, key from outbox where workspace_id = %d order by failures desc, created_at "+
			"limit 200", b.a.ID),
		"outbox_listed",
	)
	b.as("cairn_system").readsBy("select id from outbox where kind = 'turn' and due_at <= now() order by due_at "+
		"limit 100 for update skip locked", "outbox_lane")
}

// A claim of a lane does not read the tasks of the others, and of its own only as many as it takes.
func TestAClaimReadsNoTasksOfOtherLanes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("insert into outbox (workspace_id, kind, key, due_at) select $1, 'embed', i::text, "+
		"now() - interval '1 hour' from generate_series(1, 10000) i", b.a.ID)
	b.exec("insert into outbox (workspace_id, kind, key, due_at) select $1, kind, i::text, "+
		"now() - interval '1 minute' from generate_series(1, 100) i, unnest(array['turn', 'event']) kind", b.a.ID)
	b.exec("analyze outbox")
	tx, err := b.admin.Begin(t.Context())
	testkit.Must(t, err)
	defer tx.Rollback(context.Background())
	rows, err := tx.Query(t.Context(), dbsqlc.OutboxClaim, []string{"turn", "event"}, 8)
	testkit.Must(t, err)
	claimed := 0
	for rows.Next() {
		claimed++
	}
	testkit.Must(t, rows.Err())
	var read int
	testkit.Must(t, tx.QueryRow(t.Context(), "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables "+
		"where relname = 'outbox'").Scan(&read))
	if claimed != 8 || read > 100 {
		t.Errorf("a claim of %d tasks has read %d of 10200", claimed, read)
	}
}

func TestALookoutGivesUpInTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx, err := b.admin.Begin(t.Context())
	testkit.Must(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "lock table outbox in access exclusive mode")
	testkit.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Backlog(ctx); err == nil || fault.CodeOf(err) == "" {
		t.Errorf("counted what is locked: %v", err)
	}
	testkit.Must(t, tx.Rollback(t.Context()))
	if _, err := b.Backlog(t.Context()); err != nil {
		t.Errorf("after it: %v", err)
	}
}
