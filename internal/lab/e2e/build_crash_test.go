package e2e_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// hold takes a lock that blocks other transactions until release is called.
func hold(b *apptest.Bundle, sql string) (release func()) {
	b.T.Helper()
	conn, err := pgx.Connect(b.T.Context(), b.AdminURL)
	testkit.Must(b.T, err)
	tx, err := conn.Begin(b.T.Context())
	testkit.Must(b.T, err)
	_, err = tx.Exec(b.T.Context(), sql)
	testkit.Must(b.T, err)
	return func() {
		b.T.Helper()
		testkit.Must(b.T, tx.Rollback(b.T.Context()))
		testkit.Must(b.T, conn.Close(b.T.Context()))
	}
}

// A worker that dies in the middle of a span does not change the result: each decision and each
// change is made once, and no model call is repeated.
func TestABuildSurvivesACrashAtEveryPoint(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		lock string // what the second span waits for
		done string // is true when it has come there
	}{
		"while skills are chosen": {"lock table cairn.decisions in share mode",
			"select count(*) = 0 from cairn.decisions"},
		"between the stored reply and the change": {"lock table cairn.memory_revisions in share mode",
			"select count(*) = 2 and (select count(*) from cairn.memory_revisions) = 1 from cairn.llm_calls where " +
				"state = 'done'"},
		"between the change and its outcome": {"select * from cairn.decisions where span = 1 for update",
			"select count(*) = 2 and (select count(*) from cairn.decisions where outcome is null) = 1 from " +
				"cairn.memory_revisions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apptest.OpenIdle(t)
			choosing := name == "while skills are chosen" // of the first span: nothing has come before
			var release func()
			if choosing {
				release = hold(b, c.lock)
			} else {
				b.Model.On(openaitest.Rule{Stage: "remember", Task: "span/1", Times: 1, Barrier: "second",
					ReplyFunc: keeper})
			}
			b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
			worker := b.StartProcess()
			r := buildSession(b, building())
			if !choosing {
				testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "second", 1))
				release = hold(b, c.lock)
				b.Model.Release("second")
			}
			testkit.Eventually(t, "the span waits", func() bool {
				return count(b, "select count(*) from pg_stat_activity where datname = current_database() and "+
					"wait_event_type = 'Lock'") > 0 && column[bool](b, c.done)[0]
			})
			worker.Kill()
			release()
			b.StartProcess()
			if got := builtBy(b, r.Ref); got.Outcome != run.Completed || len(got.Added) != 2 || len(got.Updated) != 1 {
				t.Errorf("%+v", got)
			}
			for what, want := range map[string]int{"memory_revisions": 3, "decisions": 3,
				"llm_calls where stage = 'remember' and state = 'done'": 3} {
				if n := count(b, "select count(*) from cairn."+what); n != want {
					t.Errorf("%d of %s, want %d", n, what, want)
				}
			}
			if n := len(asked(b, "remember")); n != 3 {
				t.Errorf("%d requests, want 3", n)
			}
		})
	}
}
