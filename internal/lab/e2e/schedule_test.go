package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/schedule"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestTheReflectionFollowsTheWorkspacesClock(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	set := func(patch string) (out settings.Settings, err error) {
		err = b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(_ context.Context, q store.Tx) (err error) {
			out, err = q.Workspaces().PatchSettings(t.Context(), json.RawMessage(patch))
			return err
		})
		return out, err
	}
	next := func(name string) scheduled.Task {
		t.Helper()
		task, err := b.Schedules.Get(t.Context(), b.Workspace.ID, name)
		testkit.Must(t, err)
		return task
	}
	if task := next("daily-reflection"); task.DueAt != nil || task.Cron != recurrence.Daily || task.Zone != "UTC" {
		t.Errorf("a fresh workspace has %+v", task)
	}
	_, err := b.Schedules.Add(t.Context(), b.Workspace.ID,
		scheduled.Draft{Name: "of-tokyo", Cron: "0 9 * * *", Zone: "Asia/Tokyo", Prompt: "Look."})
	testkit.Must(t, err)
	tokyo := next("of-tokyo").DueAt
	if s, err := set(`{"time_zone":"America/Nuuk","reflection_cron":"30 22 * * *"}`); err != nil ||
		s.ReflectionCron != "30 22 * * *" {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, cron := range map[string]string{"daily-reflection": "30 22 * * *", "weekly-curation": "30 3 * * 0"} {
		task := next(name)
		c, err := recurrence.Parse(cron, "America/Nuuk")
		testkit.Must(t, err)
		if at, date := c.Next(task.Now); task.DueAt == nil || !task.DueAt.Equal(at) || task.DueDate != date.String() ||
			task.Zone != "America/Nuuk" {
			t.Errorf("%s is due at %v, %s; want %v, %s", name, task.DueAt, task.DueDate, at, date)
		}
	}
	if now := next("of-tokyo").DueAt; !now.Equal(*tokyo) {
		t.Errorf("a task with a zone of its own moved from %v to %v", tokyo, now)
	}
	for _, patch := range []string{`{"reflection_cron":"0 */6 * * *"}`, `{"reflection_cron":"@hourly"}`,
		`{"reflection_cron":"0 23 1 * 1"}`, `{"reflection_cron":"nonsense"}`, `{"reflection_cron":5}`,
		`{"time_zone":"Mars/Olympus"}`} {
		if _, err := set(patch); fault.CodeOf(err) != fault.InvalidArgument || fault.From(err).Hint == "" {
			t.Errorf("%s: %v", patch, err)
		}
	}
	if s, err := set(`{"reflection_cron":null}`); err != nil || s.ReflectionCron != recurrence.Daily ||
		s.TimeZone != "America/Nuuk" {
		t.Errorf("the default again: %+v, %v", s, err)
	}
}

func TestTasksAreAddedPausedAndRemoved(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	ctx, ws := t.Context(), b.Workspace.ID
	good := scheduled.Draft{Name: "report", Cron: "0 8 * * *", Prompt: "Sum up the day."}
	made, err := b.Schedules.Add(ctx, ws, good)
	testkit.Must(t, err)
	if made.Channel != "scheduled" || made.CatchUp != 12*time.Hour || made.Overlap != scheduled.OverlapSkip ||
		made.DueAt == nil {
		t.Errorf("made %+v", made)
	}
	for code, change := range map[fault.Code][]func(*scheduled.Draft){
		fault.AlreadyExists: {func(*scheduled.Draft) {}},
		fault.TooLarge:      {func(d *scheduled.Draft) { d.Prompt = strings.Repeat("x", 32_001) }},
		fault.InvalidArgument: {func(d *scheduled.Draft) { d.Name = "Report" }, func(d *scheduled.Draft) {
			d.Name = ""
		}, func(d *scheduled.Draft) { d.Prompt = " \n" }, func(d *scheduled.Draft) { d.Cron = "61 * * * *" },
			func(d *scheduled.Draft) { d.Cron = "0 8 1 * 1" }, func(d *scheduled.Draft) {
				d.Zone = "Local"
			}, func(d *scheduled.Draft) { d.Channel = "fax" }, func(d *scheduled.Draft) { d.MaxTurns = 51 },
			func(d *scheduled.Draft) { d.CatchUp = 169 * time.Hour },
			func(d *scheduled.Draft) { d.Overlap = "both" }}} {
		for i, f := range change {
			d := good
			f(&d)
			if _, err := b.Schedules.Add(ctx, ws, d); fault.CodeOf(err) != code {
				t.Errorf("%s %d: %v", code, i, err)
			}
		}
	}
	paused, err := b.Schedules.Pause(ctx, ws, "report")
	testkit.Must(t, err)
	again, err := b.Schedules.Pause(ctx, ws, "report")
	if err != nil || paused.PausedAt == nil || !paused.PausedAt.Equal(*again.PausedAt) {
		t.Errorf("paused %+v, again %+v, %v", paused, again, err)
	}
	exec(b, "update cairn.scheduled_tasks set due_at = now() - interval '3 days' where name = 'report'")
	resumed, err := b.Schedules.Resume(ctx, ws, "report")
	// missed firings are skipped
	if err != nil || resumed.PausedAt != nil || !resumed.DueAt.Equal(*made.DueAt) {
		t.Errorf("resumed %+v, %v", resumed, err)
	}
	if err := b.Schedules.Remove(ctx, ws, "daily-reflection"); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a built-in task was removed: %v", err)
	}
	testkit.Must(t, b.Schedules.Remove(ctx, ws, "report"))
	if err := b.Schedules.Remove(ctx, ws, "report"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("removed twice: %v", err)
	}
	exec(b, "insert into cairn.scheduled_tasks (workspace_id, name, kind, cron, prompt) select $1, 'n' || i, "+
		"'turn', '@daily', 'x' from generate_series(1, 98) i", ws)
	if _, err := b.Schedules.Add(ctx, ws, good); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("one too many: %v", err)
	}
}

func TestABackfillFiresEachMissedTimeOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	_, err := b.Schedules.Add(t.Context(), b.Workspace.ID,
		scheduled.Draft{Name: "report", Cron: "0 8 * * *", Prompt: "Sum up the day."})
	testkit.Must(t, err)
	fill := func(from, until int) []scheduled.FiringRecord {
		t.Helper()
		fired, err := b.Schedules.Backfill(t.Context(), b.Workspace.ID, b.Workspace.Key, "report",
			recurrence.Date{Year: 2026, Month: 3, Day: from}, recurrence.Date{Year: 2026, Month: 3, Day: until})
		testkit.Must(t, err)
		return fired
	}
	if got := fill(1, 2); len(got) != 2 || got[0].Key != "2026-03-01" || got[1].Outcome != schedule.Started {
		t.Errorf("%+v", got)
	}
	if got := fill(2, 3); len(got) != 2 || got[0].Outcome != schedule.Collapsed || got[1].Outcome != schedule.Started {
		t.Errorf("%+v", got)
	}
	task, err := b.Schedules.Get(t.Context(), b.Workspace.ID, "report")
	testkit.Must(t, err)
	if turns := view(b, task.Conversation()).Turns; turns != 3 {
		t.Errorf("%d turns", turns)
	}
	for _, c := range []struct {
		from, until recurrence.Date
		code        fault.Code
	}{{recurrence.Date{Year: 2026, Month: 3, Day: 2}, recurrence.Date{Year: 2026, Month: 3, Day: 1},
		fault.InvalidArgument}, {recurrence.Date{Year: 2025, Month: 1, Day: 1},
		recurrence.Date{Year: 2026, Month: 1, Day: 1}, fault.TooLarge}} {
		if _, err := b.Schedules.Backfill(context.Background(), b.Workspace.ID, b.Workspace.Key, "report", c.from,
			c.until); fault.CodeOf(err) != c.code {
			t.Errorf("%s to %s: %v", c.from, c.until, err)
		}
	}
	if d := fmt.Sprint(task.Conversation()); !strings.HasPrefix(d, "schedule/report/") {
		t.Errorf("its conversation is %s", d)
	}
}
