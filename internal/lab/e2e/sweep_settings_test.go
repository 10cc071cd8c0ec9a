package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/recurrence"
	domainreflection "cairn/internal/domain/reflection"
	"cairn/internal/domain/scheduled"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/reflection"
	"cairn/internal/service/schedule"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// choose changes the settings of the bundle's workspace.
func choose(b *apptest.Bundle, patch string) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(patch))
		return err
	})
}

// The claiming statement applies the settings of a workspace: no workflow starts for a disabled
// task or in quiet hours.
func TestTheSweepKeepsToWhatAWorkspaceChose(t *testing.T) {
	t.Parallel()
	b := sweepSetup(t)
	fresh := func(t *testing.T, n int) {
		b.t = t
		for _, table := range []string{"audit_events", "reflection_runs", "scheduled_tasks", "conversation_marks",
			"turns", "messages", "conversations", "workspaces"} {
			where := map[bool]string{true: "", false: " where workspace_id in (select id from workspaces where " +
				"external_id like 'due %')"}[table == "workspaces"]
			if table == "workspaces" {
				where = " where external_id like 'due %'"
			}
			b.exec("delete from " + table + where)
		}
		b.reflections(n, 1)
	}
	started := func(key, date string) bool { return b.execution(contract.ReflectionID(key, date)) != "" }
	t.Run("turned off, and on again", func(t *testing.T) {
		fresh(t, 2)
		b.exec(`update workspaces set key = key || 'off' where external_id like 'due %'`)
		b.exec(`update workspaces set settings = '{"reflection":false}' where external_id = 'due 1'`)
		if got := b.sweep(b.Sweeper, 100); got.Started != 1 || got.Skipped != 1 || started("wdue1off", "2026-11-19") ||
			!started("wdue2off", "2026-11-19") {
			t.Errorf("swept %+v", got)
		}
		if n := b.number("select count(*) from reflection_runs"); n != 0 {
			t.Errorf("%d days have a row", n)
		}
		if n := b.number("select count(*) from scheduled_tasks where slot_key = '2026-11-19' and slot_outcome = " +
			"'skipped' and slot_reason like '%the setting reflection' and due_at > now()"); n != 1 {
			t.Error("the firing has no reason for the skip")
		}
		b.exec(`update workspaces set settings = '{}'`)
		b.exec("update scheduled_tasks set due_at = now(), due_date = '2026-11-20', due_key = '2026-11-20'")
		if got := b.sweep(b.Sweeper, 100); got.Started != 2 || !started("wdue1off", "2026-11-20") {
			t.Errorf("on again it swept %+v", got)
		}
	})
	t.Run("turned off while a page held it", func(t *testing.T) {
		fresh(t, 1)
		b.exec(`update workspaces set key = 'wheld' where external_id = 'due 1'`)
		_, err := b.Store.Sweep().ClaimPage(t.Context(), "held", 100, time.Hour, schedule.Planner{}.Plan)
		testkit.Must(t, err)
		b.exec(`update workspaces set settings = '{"reflection":false}' where external_id = 'due 1'`)
		b.exec("update scheduled_tasks set lease_until = now() - interval '1 second'")
		if got := b.sweep(b.Sweeper, 100); got.Started != 0 || got.Skipped != 1 || started("wheld", "2026-11-19") {
			t.Errorf("swept %+v", got)
		}
	})
	t.Run("quiet hours", func(t *testing.T) {
		fresh(t, 1)
		b.exec(`update workspaces set key = 'wquiet', time_zone = 'Asia/Kathmandu' where external_id = 'due 1'`)
		zone, err := recurrence.Zone("Asia/Kathmandu")
		testkit.Must(t, err)
		wall := time.Now().In(zone)
		b.exec(`update workspaces set settings = $1 where external_id = 'due 1'`,
			fmt.Sprintf(`{"quiet_hours":{"from":%q,"to":%q}}`, wall.Add(-time.Hour).Format("15:04"),
				wall.Add(time.Hour).Format("15:04")))
		if got := b.sweep(b.Sweeper, 100); got.Looked != 1 || got.Started+got.Skipped+got.Empty != 0 ||
			started("wquiet", "2026-11-19") {
			t.Errorf("swept %+v", got)
		}
		if got := b.sweep(b.Sweeper, 100); got.Looked != 0 {
			t.Errorf("it is looked at again and again: %+v", got)
		}
		if n := b.number("select count(*) from scheduled_tasks where due_key = '2026-11-19' and slot_key is null " +
			"and start_at between now() + interval '58 minutes' and now() + interval '61 minutes'"); n != 1 {
			t.Error("it is not put off to their end")
		}
		var ws int64
		testkit.Must(t, b.admin.QueryRow(t.Context(), "select id from workspaces where key = 'wquiet'").Scan(&ws))
		testkit.Must(t, b.Store.InWorkspace(t.Context(), ws, func(_ context.Context, q store.Tx) error {
			_, err := q.Workspaces().PatchSettings(t.Context(), json.RawMessage(`{"quiet_hours":null}`))
			return err
		}))
		if got := b.sweep(b.Sweeper, 100); got.Started != 1 || !started("wquiet", "2026-11-19") {
			t.Errorf("without them it swept %+v", got)
		}
	})
	t.Run("a day with an earlier manual reflection", func(t *testing.T) {
		fresh(t, 3)
		b.exec("update workspaces set key = 'wrest' || split_part(external_id, ' ', 2) where external_id like 'due %'")
		b.exec(`insert into reflection_runs (workspace_id, local_date, zone, status, to_at) select t.workspace_id, ` +
			`'2026-11-19', 'UTC', 'saved', t.due_at - make_interval(hours => split_part(w.external_id, ' ', 2)::int - 1)
from scheduled_tasks t join workspaces w on w.id = t.workspace_id where w.external_id <> 'due 3'`)
		if got := b.sweep(b.Sweeper, 100); got.Started != 2 || got.Skipped != 1 || started("wrest1", "2026-11-19") ||
			!started("wrest2", "2026-11-19") || !started("wrest3", "2026-11-19") {
			t.Errorf("swept %+v", got)
		}
	})
	t.Run("a zone that is unknown here", func(t *testing.T) {
		fresh(t, 1)
		b.exec("update workspaces set time_zone = 'Mars/Olympus' where external_id = 'due 1'")
		if got := b.sweep(b.Sweeper, 100); got.Looked != 1 || got.Skipped != 1 {
			t.Errorf("swept %+v", got)
		}
		if n := b.number("select count(*) from scheduled_tasks where slot_outcome = 'failed' and look_at between " +
			"now() + interval '23 hours' and now() + interval '25 hours'"); n != 1 {
			t.Error("it is not left alone for a day")
		}
	})
	t.Run("what was imported", func(t *testing.T) {
		fresh(t, 3)
		b.exec("update workspaces set key = 'wimp' || split_part(external_id, ' ', 2) where external_id like 'due %'")
		b.exec("update conversations set channel = 'import', last_turn_at = null, dated = workspace_id = (select id " +
			"from workspaces where external_id = 'due 1')")
		b.exec("update conversations set channel = 'chat' where workspace_id = (select id from workspaces where " +
			"external_id = 'due 3')")
		if got := b.sweep(b.Sweeper, 100); got.Started != 2 || got.Empty != 1 || !started("wimp1", "2026-11-19") ||
			started("wimp2", "2026-11-19") {
			t.Errorf("swept %+v", got)
		}
	})
	t.Run("empty for a week although people talked", func(t *testing.T) {
		fresh(t, 4)
		b.exec(`update scheduled_tasks set due_at = now(), due_date = current_date, due_key = current_date::text ` +
			`where kind = 'reflection'`)
		b.exec(`insert into conversation_marks (workspace_id, conversation_id, kind, seq) select workspace_id, id, ` +
			`'reflection', 1 from conversations`)
		b.exec(`insert into turns (workspace_id, conversation_id, number, message_id, mode, origin, args_sha, ` +
			`first_seq, accepted_at)
select c.workspace_id, c.id, 1, 'm', 'observe', case when w.external_id = 'due 2' then 'heartbeat' else 'user' end, ` +
			`'x', 0, now() - interval '2 days' from conversations c join workspaces w on w.id = c.workspace_id ` +
			`where w.external_id like 'due %'`)
		b.exec(`insert into reflection_runs (workspace_id, local_date, zone, status, to_at) select w.id, ` +
			`current_date - n, 'UTC', case when w.external_id = 'due 3' and n = 4 then 'saved' else 'empty' end, ` +
			`now() - make_interval(days => n)
from workspaces w, generate_series(1, 6) n where w.external_id like 'due %' and (w.external_id <> 'due 4' or n < 6)`)
		if got := b.sweep(b.Sweeper, 100); got.Empty != 4 {
			t.Fatalf("swept %+v", got)
		}
		if n := b.number("select count(*) from reflection_runs where empty_week"); n != 1 ||
			b.number("select count(*) from reflection_runs r join workspaces w on w.id = r.workspace_id where "+
				"w.external_id = 'due 1' and r.local_date = current_date and r.empty_week") != 1 {
			t.Errorf("%d days say that they should not be empty", n)
		}
		if got, err := b.Store.Backlog(t.Context()); err != nil || got.EmptyWeek != 1 {
			t.Errorf("%d workspaces need a look, %v", got.EmptyWeek, err)
		}
	})
}

// A workspace that has only imports turns reflection off for some days. Nothing is read
// meanwhile, and nothing is lost when it is on again.
func TestImportsWaitForAWorkspaceThatTurnedReflectionOff(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	now := time.Now().UTC()
	day := func(ago int) string { return now.AddDate(0, 0, -ago).Format(time.DateOnly) }
	mixed := append(talk(t, day(3)+" 10:00", "We have picked the blue tiles.", "Noted."),
		transcript.Message{Role: transcript.User, Content: "Nobody knows when this was said."})
	imported(b, "c", mixed...)
	imported(b, "old", talk(t, day(30)+" 10:00", "Long ago we had green ones.", "Noted.")...)
	scriptReflection(b, noting("Blue tiles were picked.", 1))
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	sweepOn := func(date string) contract.SweepCounts {
		t.Helper()
		exec(b, `delete from cairn.scheduled_tasks where kind <> 'reflection'`)
		exec(b, `update cairn.scheduled_tasks set start_at = null, due_at = now(), due_date = $1::text::date, `+
			`due_key = $1`, date)
		return swept(b, "sweep-"+date, contract.SweepInput{})
	}

	choose(b, `{"reflection":false}`)
	if got := sweepOn(day(2)); got.Started != 0 || got.Empty != 0 || got.Skipped != 1 {
		t.Errorf("turned off it swept %+v", got)
	}
	for what, ask := range map[string]func() error{
		"now": func() error {
			_, err := b.Reflections.Now(t.Context(), b.Workspace, reflection.DateRequest{})
			return err
		},
		"a date": func() error {
			_, err := b.Reflections.Now(t.Context(), b.Workspace, reflection.DateRequest{Date: day(3)})
			return err
		},
		"backfill": func() error {
			return b.Reflections.Backfill(t.Context(), b.Workspace, day(3), day(2), false, nil)
		},
		"trigger": func() error {
			_, err := b.Schedules.Trigger(t.Context(), b.Workspace.ID, b.Workspace.Key, "daily-reflection", "")
			return err
		},
		"backfill of the task": func() error {
			_, err := b.Schedules.Backfill(t.Context(), b.Workspace.ID, b.Workspace.Key, "daily-reflection",
				recurrence.DateOf(now.AddDate(0, 0, -3)), recurrence.DateOf(now.AddDate(0, 0, -2)))
			return err
		},
	} {
		if err := ask(); fault.CodeOf(err) != fault.TurnedOff ||
			!strings.Contains(fault.From(err).Hint, "reflection=true") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if task, err := b.Schedules.Get(t.Context(), b.Workspace.ID, "daily-reflection"); err != nil || !task.Off ||
		task.Last == nil || task.Last.Outcome != schedule.Skipped {
		t.Errorf("the task is %+v, %v", task, err)
	}
	if n := count(b,
		"select (select count(*) from cairn.runs) + (select count(*) from cairn.reflection_runs)"); n != 0 ||
		len(b.Model.Requests()) != 0 {
		t.Errorf("%d rows and %d requests although it is off", n, len(b.Model.Requests()))
	}

	choose(b, `{"reflection":null}`)
	if got := sweepOn(day(1)); got.Started != 1 {
		t.Fatalf("on again it swept %+v", got)
	}
	var out contract.ReflectionResult
	testkit.Must(t, b.Temporal.GetWorkflow(t.Context(), contract.ReflectionID(b.Workspace.Key, day(1)), "").
		Get(t.Context(), &out))
	got, err := b.App.Reflect.Show(t.Context(), b.Workspace.ID, day(1))
	testkit.Must(t, err)
	if r := got.Runs[0]; out.Status != domainreflection.Saved || r.Messages != 2 || r.Skipped != 2 ||
		got.Day.Notes != 1 {
		t.Errorf("on again the day came to %+v", got)
	}
	if got := sweepOn(day(0)); got.Started != 0 || got.Empty != 1 {
		t.Errorf("what has no time is waited for: %+v", got)
	}
	var dates []string
	testkit.Must(t, b.Reflections.Backfill(t.Context(), b.Workspace, day(31), day(29), false,
		func(o reflection.OpenResult) error {
			dates = append(dates, o.Run.Key)
			reflected(b, o.Run)
			return nil
		}))
	made, err := b.App.Reflect.Show(t.Context(), b.Workspace.ID, day(30))
	testkit.Must(t, err)
	if len(dates) != 3 || made.Status != domainreflection.Saved || made.Messages != 2 {
		t.Errorf("made up for %v: %+v", dates, made)
	}
}

// A run that finds nothing to read reports, like the claim, that it is the seventh in a row,
// although users sent messages.
func TestARunThatIsEmptyForAWeekSaysSo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	exec(b, `with c as (insert into cairn.conversations (workspace_id, external_id, channel, next_seq, `+
		`last_turn_at) values ($1, 'c', 'chat', 0, now()) returning id)
insert into cairn.turns (workspace_id, conversation_id, number, message_id, mode, origin, args_sha, first_seq, `+
		`accepted_at) select $1, id, 1, 'm', 'observe', 'user', 'x', 0, now() - interval '2 days' from c`,
		b.Workspace.ID)
	exec(b, `insert into cairn.reflection_runs (workspace_id, local_date, zone, status, to_at) select $1, `+
		`current_date - n, 'UTC', 'empty', now() - make_interval(days => n) from generate_series(1, 6) n`,
		b.Workspace.ID)
	date := time.Now().UTC().Format(time.DateOnly)
	o, err := b.App.Reflect.Open(t.Context(),
		reflection.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Date: date, Zone: "UTC",
			To: time.Now(), Why: contract.ReflectionOfSweep,
			WorkflowID: "w", Spec: app.ReflectionSpec(b.Config)})
	testkit.Must(t, err)
	day, err := b.App.Reflect.Show(t.Context(), b.Workspace.ID, date)
	if err != nil || o.Ended == nil || day.Status != reflection.Empty ||
		day.Reason != domainreflection.EmptyWeekReason ||
		!day.Runs[0].EmptyWeek {
		t.Errorf("the day came to %+v, %v", day, err)
	}
}

func TestSettingsOfTheSweepAreShown(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Schedules.Planner.Jitter = 15 * time.Minute
	choose(b, `{"time_zone":"Europe/Berlin","quiet_hours":{"from":"22:00","to":"07:00"}}`)
	_, err := b.Schedules.Add(t.Context(), b.Workspace.ID,
		scheduled.Draft{Name: "night", Cron: "0 2 * * *", Prompt: "Look."})
	testkit.Must(t, err)
	tasks, err := b.Schedules.List(t.Context(), b.Workspace.ID)
	testkit.Must(t, err)
	zone, err := recurrence.Zone("Europe/Berlin")
	testkit.Must(t, err)
	for _, task := range tasks {
		starts := task.StartsAt.In(zone)
		exact := task.Name != "night" || starts.Format("15:04:05") == "07:00:00"
		if starts.Before(*task.DueAt) || starts.Hour() != 7 || starts.Minute() >= 15 || !exact || task.Off {
			t.Errorf("%s is due at %s and starts at %s", task.Name, task.DueAt, starts)
		}
	}
	if s := settings.Default(); !s.Reflection || s.QuietHours != (settings.QuietHours{}) {
		t.Errorf("nothing chosen is %+v", s)
	}
}
