package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/scheduled"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/library"
	"cairn/internal/service/schedule"
	"cairn/internal/testkit"
)

// An unused managed skill becomes stale and is archived. If it is used, it becomes active again.
// Skills that are user-owned, pinned, or named in a scheduled prompt stay.
func TestSkillsThatNobodyUsesGoOutOfUseAndComeBack(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.ScriptR1()
	b.Distill(apptest.C1())
	const name = "service-deployment-rollback"
	age := func(days int) {
		exec(b, "update cairn.skill_versions set created_at = now() - make_interval(days => $1)", days)
		exec(b, "update cairn.skills set updated_at = now() - make_interval(days => $1)", days)
	}
	status := func() (out skill.Status) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), b.AdminURL)
		testkit.Must(t, err)
		defer conn.Close(context.Background())
		testkit.Must(t, conn.QueryRow(t.Context(), "select s.status from cairn.skills s join cairn.search_docs d on "+
			"d.kind = 'skill' and d.owner_id = s.id and d.status = s.status where s.name = $1", name).Scan(&out))
		return out
	}
	curated := func(dryRun bool) library.CuratorReport {
		t.Helper()
		r, err := b.Curator.Curate(t.Context(), b.Workspace.ID, dryRun)
		testkit.Must(t, err)
		return r
	}
	age(31)
	for what, protect := range map[string]string{"a person's": "update cairn.skills set managed = false",
		"a pinned one":              "update cairn.skills set managed = true, pinned = true",
		"one that a schedule names": "update cairn.skills set managed = true, pinned = false"} {
		exec(b, protect)
		if what == "one that a schedule names" {
			_, err := b.Schedules.Add(t.Context(), b.Workspace.ID,
				scheduled.Draft{Name: "weekly", Cron: "@weekly", Prompt: "Try " + name + " once."})
			testkit.Must(t, err)
		}
		if r := curated(false); len(r.Changes) != 0 || r.Kept != 1 || status() != skill.Active {
			t.Errorf("%s: %+v", what, r)
		}
		testkit.Must(t, ignore(b.Schedules.Remove(t.Context(), b.Workspace.ID, "weekly"),
			what != "one that a schedule names"))
	}
	exec(b, "update cairn.skills set managed = true, pinned = false")
	if r := curated(true); r.Count(library.Stale) != 1 || status() != skill.Active {
		t.Errorf("a dry run: %+v, and the skill is %s", r, status())
	}
	// The weekly schedule starts the curation.
	fired, err := b.Schedules.Trigger(t.Context(), b.Workspace.ID, b.Workspace.Key, "weekly-curation", "by-hand")
	testkit.Must(t, err)
	if fired.Outcome != schedule.Started {
		t.Fatalf("fired %+v", fired)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out contract.CurateResult
	id := contract.CurateID(b.Workspace.Key, fired.Key)
	testkit.Must(t, b.Temporal.GetWorkflow(ctx, id, "").Get(ctx, &out))
	if out.Staled != 1 || status() != skill.Stale {
		t.Errorf("%+v, and the skill is %s", out, status())
	}
	b.Record(id, "Curate/ended")
	if again, err := b.Schedules.Trigger(t.Context(), b.Workspace.ID, b.Workspace.Key, "weekly-curation",
		"by-hand"); err != nil || again.Outcome != schedule.Collapsed {
		t.Errorf("the same request again: %+v, %v", again, err)
	}
	exec(b, "update cairn.skills set last_used_at = now() - interval '1 day'")
	if r := curated(false); r.Count(library.Restore) != 1 || status() != skill.Active {
		t.Errorf("used: %+v, and the skill is %s", r, status())
	}
	exec(b, "update cairn.skills set last_used_at = null, status = 'stale'")
	age(91)
	if r := curated(false); r.Count(library.Archive) != 1 || status() != skill.Archived {
		t.Errorf("never used: %+v, and the skill is %s", r, status())
	}
	if r := curated(false); len(r.Changes) != 0 {
		t.Errorf("at once again: %+v", r)
	}
}

func ignore(err error, expected bool) error {
	if expected {
		return nil
	}
	return err
}

func TestInsightsTellWhatIsUsedAndWhatItCost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.ScriptR1()
	b.Distill(apptest.C1())
	exec(b, "update cairn.llm_calls set cost_micros = 500")
	i, err := b.Workspaces.Insights(t.Context(), b.Workspace.ID, 30)
	testkit.Must(t, err)
	if len(i.Used()) != 0 || len(i.NeverUsed()) != 1 || len(i.Runs) != 1 || i.Runs[0].Kind != "distill" ||
		i.Runs[0].Calls == 0 || i.Runs[0].Micros != int64(500*i.Runs[0].Calls) {
		t.Errorf("%+v", i)
	}
	if u := i.Skills[0]; u.Micros != i.Runs[0].Micros || u.Tokens != i.Runs[0].Tokens || len(i.Saves) != 1 ||
		i.Saves[0].Made != 1 {
		t.Errorf("the skill cost %+v, saved %+v", u, i.Saves)
	}
	exec(b, "insert into cairn.skill_uses (workspace_id, skill_id, use_id, version, outcome) select workspace_id, "+
		"id, 'u', 1, 'pass' from cairn.skills")
	exec(b, "update cairn.skills set uses = 1")
	i, err = b.Workspaces.Insights(t.Context(), b.Workspace.ID, 1)
	testkit.Must(t, err)
	if len(i.NeverUsed()) != 0 || len(i.Used()) != 1 || i.Used()[0].Passes != 1 {
		t.Errorf("after a use: %+v", i)
	}
}
