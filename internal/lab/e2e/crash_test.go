package e2e_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// Wherever the worker dies, the run completes
// with one skill, one version, one package, and one request for each stage.

func TestCrashAfterTheReplyWasStored(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	// The files wait, so the reply of extract is stored when the worker dies.
	b.Model.On(openaitest.Rule{Stage: "files", Nth: 1, Barrier: "details", Drop: true})
	b.ScriptR1()
	worker := b.StartProcess()
	ref := b.StartDistill()
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "details", 1))
	testkit.Eventually(t, "the draft's reply is stored", func() bool {
		return count(b, "select count(*) from cairn.llm_calls where stage = 'extract' and state = 'done'") == 1
	})
	worker.Kill()
	b.Model.Release("details")
	b.StartProcess()

	onlyOnce(b, ref)
	if n := b.Model.Count("files"); n != 2 {
		t.Errorf("%d requests for the files, want the one in flight at the crash and one more", n)
	}
}

func TestCrashAfterTheUpload(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.ScriptR1()
	unlock := lockSkills(b)
	worker := b.StartProcess()
	ref := b.StartDistill()
	testkit.Eventually(t, "the package is uploaded and its commit waits", func() bool { return waitingForLock(b) == 1 })
	worker.Kill()
	unlock()
	b.StartProcess()

	onlyOnce(b, ref)
}

func TestCrashAfterTheCommit(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.ScriptR1()
	temporal := testkit.NewProxy(t, "tcp", b.Config.TemporalAddress)
	unlock := lockSkills(b)
	worker := b.StartProcess("TEMPORAL_ADDRESS=" + temporal.Address())
	ref := b.StartDistill()
	testkit.Eventually(t, "the commit waits", func() bool { return waitingForLock(b) == 1 })
	temporal.Cut() // no process learns of the commit
	unlock()
	testkit.Eventually(t, "the version is committed", func() bool {
		return count(b, "select count(*) from cairn.skill_versions") == 1
	})
	worker.Kill()
	b.StartProcess()

	onlyOnce(b, ref)
}

func TestPostgresAwayInTheMiddleOfARun(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "extract", Barrier: "extract", Reply: apptest.R1Extract})
	b.ScriptR1()
	postgres, url := testkit.DatabaseProxy(t, b.Config.DatabaseURL)
	b.StartProcess("DATABASE_URL=" + url)
	ref := b.StartDistill()
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "extract", 1))
	postgres.Cut()
	b.Model.Release("extract")
	testkit.Eventually(t, "an attempt has failed for want of the database", func() bool { return attempts(b, ref) > 1 })
	postgres.Restore()

	r := b.Wait(ref)
	if r.Outcome != run.Completed {
		t.Errorf("run ended as %q (%s)", r.Outcome, r.Reason)
	}
	if n := count(b, "select count(*) from cairn.skill_versions"); n != 1 {
		t.Errorf("%d versions, want 1", n)
	}
}

// onlyOnce waits for the run and counts its effects. It then repeats the request and counts
// again.
func onlyOnce(b *apptest.Bundle, ref run.Ref) {
	b.T.Helper()
	r := b.Wait(ref)
	if r.Outcome != run.Completed || r.Tasks[0].Outcome != distillation.Created {
		b.T.Errorf("run ended as %q (%s)", r.Outcome, r.Reason)
	}
	calls := 3
	if b.Config.Quality {
		calls++
	}
	for query, want := range map[string]int{
		"select count(*) from cairn.skills":                               1,
		"select count(*) from cairn.skill_versions":                       1,
		"select count(*) from cairn.packages where state = 'live'":        1,
		"select count(*) from cairn.llm_calls where state = 'done'":       calls,
		"select count(*) from cairn.llm_calls":                            calls,
		"select count(*) from cairn.search_docs where kind = 'skill'":     1,
		"select count(*) from cairn.outbox":                               0,
		"select count(*) from cairn.tool_op_log where result is not null": 1,
	} {
		if got := count(b, query); got != want {
			b.T.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if files := tree(b.T.(*testing.T), b.Packages); len(files) != 2 {
		b.T.Errorf("objects %v, want one zip and its SKILL.md", files)
	}
	for _, stage := range []string{"segment", "extract"} {
		if n := b.Model.Count(stage); n != 1 {
			b.T.Errorf("%d requests for %s, want 1", n, stage)
		}
	}
	before := len(b.Model.Requests())
	if again := b.Distill(apptest.C1()); again.Run != ref.Run {
		b.T.Errorf("the same request became run %s, not %s", again.Run, ref.Run)
	}
	if after := len(b.Model.Requests()); after != before {
		b.T.Errorf("the same request made %d more model calls", after-before)
	}
}

// lockSkills blocks every commit of the workspace until unlock is called.
func lockSkills(b *apptest.Bundle) (unlock func()) {
	b.T.Helper()
	conn, err := pgx.Connect(b.T.Context(), b.AdminURL)
	testkit.Must(b.T, err)
	_, err = conn.Exec(b.T.Context(), "select pg_advisory_lock(4, hashint8($1))", b.Workspace.ID)
	testkit.Must(b.T, err)
	return func() { conn.Close(context.Background()) }
}

func waitingForLock(b *apptest.Bundle) int {
	return count(b, "select count(*) from pg_locks where locktype = 'advisory' and classid = 4 and not granted and "+
		"database = (select oid from pg_database where datname = current_database())")
}

func count(b *apptest.Bundle, query string) int {
	b.T.Helper()
	var n int
	testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(), query).Scan(&n))
	return n
}

// attempts returns the highest attempt of the pending activities of the run's workflows.
func attempts(b *apptest.Bundle, ref run.Ref) int {
	b.T.Helper()
	report, err := b.App.Distill.Report(b.T.Context(), ref)
	testkit.Must(b.T, err)
	most := 0
	for _, task := range report.Tasks {
		d, err := b.Temporal.DescribeWorkflow(b.T.Context(), task.WorkflowID, "")
		testkit.Must(b.T, err)
		for _, a := range d.RawResponse.PendingActivities {
			most = max(most, int(a.Attempt))
		}
	}
	return most
}
