package e2e_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/schedule"
	"cairn/internal/testkit"
)

// swept runs the workflow Sweep to its end.
func swept(b *apptest.Bundle, id string, in contract.SweepInput) (out contract.SweepCounts) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.T.Context(), time.Minute)
	defer cancel()
	in.Timeouts.Heartbeat = 2 * time.Second
	r, err := b.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: contract.QueueMain},
		contract.Sweep, in)
	testkit.Must(b.T, err)
	testkit.Must(b.T, r.Get(ctx, &out))
	return out
}

func TestAScheduledPromptIsAnsweredAsATurn(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Choice: llm.ChooseNone, Reply: "That is all."})
	b.Model.On(openaitest.Rule{Stage: "turn", CallsFunc: looking})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	task, err := b.Schedules.Add(t.Context(), b.Workspace.ID,
		scheduled.Draft{Name: "report", Cron: "0 8 * * *", Prompt: "Sum up the day."})
	testkit.Must(t, err)
	exec(b, "update cairn.scheduled_tasks set due_at = now() - interval '1 minute', due_date = '2026-11-19', "+
		"due_key = '2026-11-19' where name = 'report'")
	// the built-in tasks were planned
	if got := swept(b, "sweep-answered", contract.SweepInput{}); got.Looked != 4 || got.Started != 1 {
		t.Errorf("swept %+v", got)
	}
	out := answered(b, task.Conversation(), "2026-11-19")
	if n := len(asked(b, "turn")); n != 15 || out.Status != "ended" { // the last one without tools
		t.Errorf("%d model calls: %+v", n, out)
	}
	if v := view(b, task.Conversation()); v.Channel != "scheduled" || v.Counters.Total != 0 {
		t.Errorf("the conversation is %+v", v)
	}
	if got := swept(b, "sweep-again", contract.SweepInput{}); got.Looked != 0 {
		t.Errorf("swept again %+v", got)
	}
	b.Record("sweep-answered", "Sweep/ended")
	// If a page is delivered twice, the turn is the same.
	day := recurrence.Date{Year: 2026, Month: time.November, Day: 19}
	fired, err := b.Schedules.Backfill(t.Context(), b.Workspace.ID, b.Workspace.Key, "report", day, day)
	testkit.Must(t, err)
	if len(fired) != 1 || fired[0].Outcome != schedule.Collapsed {
		t.Errorf("backfilled %+v", fired)
	}
	if n := len(asked(b, "turn")); n != 15 {
		t.Errorf("%d model calls", n)
	}
}

func TestATurnWithoutAnAnswerKeepsTheNextFromStarting(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t) // no worker answers
	for name, overlap := range map[string]string{"skips": scheduled.OverlapSkip, "queues": scheduled.OverlapQueue} {
		_, err := b.Schedules.Add(t.Context(), b.Workspace.ID,
			scheduled.Draft{Name: name, Cron: "@hourly", Prompt: "Look.", Overlap: overlap, Channel: "sms"})
		testkit.Must(t, err)
		second := map[string]string{scheduled.OverlapSkip: schedule.Skipped,
			scheduled.OverlapQueue: schedule.Started}[overlap]
		for _, want := range []string{schedule.Started, second} {
			f, err := b.Schedules.Trigger(t.Context(), b.Workspace.ID, b.Workspace.Key, name, "")
			testkit.Must(t, err)
			if f.Outcome != want {
				t.Errorf("%s: %+v, want %s", name, f, want)
			}
		}
		tasks, err := b.Schedules.Get(t.Context(), b.Workspace.ID, name)
		testkit.Must(t, err)
		turns := view(b, tasks.Conversation()).Turns
		if want := map[string]int{"skips": 1, "queues": 2}[name]; turns != want {
			t.Errorf("%s: %d turns, want %d", name, turns, want)
		}
	}
}

// A run of Sweep stays short, however much is due: it continues as new.
func TestASweepContinuesAsNewAndCountsOn(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `with made as (insert into cairn.workspaces (external_id, key) select 'n' || i, 'wn' || i from `+
		`generate_series(1, 9) i returning id)
insert into cairn.scheduled_tasks (workspace_id, name, kind, due_at, due_date, due_key) select id, `+
		`'daily-reflection', 'reflection', now(), '2026-11-19', '2026-11-19' from made`)
	exec(b, "delete from cairn.scheduled_tasks where workspace_id = $1", b.Workspace.ID)
	if got := swept(b, "sweep-long", contract.SweepInput{Pages: 2, Rows: 2}); got.Looked != 9 || got.Empty != 9 ||
		got.Started != 0 {
		t.Errorf("swept %+v", got)
	}
	var runs []string // the latest first
	testkit.Eventually(t, "Temporal shows every run", func() bool {
		page, err := b.Temporal.ListWorkflow(t.Context(),
			&workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowId = 'sweep-long'"})
		testkit.Must(t, err)
		runs = nil
		for _, x := range page.Executions {
			runs = append(runs, x.Execution.RunId)
		}
		return len(runs) == 3 // pages of 2, 2 | 2, 2 | 1
	})
	b.RecordExecution("sweep-long", runs[2], "Sweep/continued")
}

// The worker creates the one Temporal Schedule. A second worker finds it, and another interval
// replaces the existing one.
func TestTheWorkerSchedulesTheSweepOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.SweepEvery = time.Second })
	exec(b, "update cairn.scheduled_tasks set due_at = now(), due_date = '2026-11-19', due_key = '2026-11-19' where "+
		"kind = 'reflection'")
	testkit.Eventually(t, "the sweep has been at it", func() bool {
		task, err := b.Schedules.Get(t.Context(), b.Workspace.ID, "daily-reflection")
		return err == nil && task.Last != nil && task.Last.Outcome == scheduled.Empty
	})
	b.Config.SweepEvery = time.Hour
	testkit.Must(t, b.ScheduleSweep(t.Context()))
	testkit.Must(t, b.ScheduleSweep(t.Context()))
	d, err := b.Temporal.ScheduleClient().GetHandle(t.Context(), contract.SweepSchedule).Describe(t.Context())
	testkit.Must(t, err)
	s := d.Schedule
	if len(s.Spec.Intervals) != 1 || s.Spec.Intervals[0].Every != time.Hour || s.Spec.TimeZoneName != "UTC" ||
		s.Policy.Overlap != enums.SCHEDULE_OVERLAP_POLICY_SKIP || s.Policy.CatchupWindow != time.Hour {
		t.Errorf("the schedule is %+v, %+v", s.Spec, s.Policy)
	}
}
