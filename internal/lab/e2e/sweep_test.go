package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/api/serviceerror"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/scheduled"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/schedule"
	"cairn/internal/testkit"
)

// sweepBundle is a Cairn without workers: started workflows make no progress.
type sweepBundle struct {
	*apptest.Bundle
	t     *testing.T
	admin *pgxpool.Pool
	pages int
}

func sweepSetup(t *testing.T) *sweepBundle {
	t.Helper()
	b := &sweepBundle{Bundle: apptest.OpenIdle(t), t: t}
	c, err := pgxpool.ParseConfig(b.AdminURL)
	testkit.Must(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	b.admin, err = pgxpool.NewWithConfig(t.Context(), c)
	testkit.Must(t, err)
	t.Cleanup(b.admin.Close)
	b.exec("delete from scheduled_tasks") // those of the bundle's own workspace
	return b
}

func (b *sweepBundle) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.admin.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *sweepBundle) number(sql string, args ...any) (n int) {
	b.t.Helper()
	if err := b.admin.QueryRow(b.t.Context(), sql, args...).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// reflections creates n workspaces whose daily reflection became due a minute ago. Every n-th
// has a conversation.
func (b *sweepBundle) reflections(n, every int) {
	b.t.Helper()
	b.exec(`with made as (
  insert into workspaces (external_id, key) select 'due ' || i, 'wdue' || i from generate_series(1, $1::int) i `+
		`returning id, external_id
), task as (
  insert into scheduled_tasks (workspace_id, name, kind, due_at, due_date, due_key)
  select id, 'daily-reflection', 'reflection', now() - interval '1 minute', '2026-11-19', '2026-11-19' from made
)
insert into conversations (workspace_id, external_id, channel, next_seq, last_turn_at) select id, 'c', 'chat', 2, `+
		`now() from made where split_part(external_id, ' ', 2)::int % $2::int = 0`, n, every)
}

// sweep processes pages until nothing is due.
func (b *sweepBundle) sweep(s *schedule.Sweeper, rows int) (total contract.SweepCounts) {
	b.t.Helper()
	for {
		b.pages++
		counts, err := s.Page(b.t.Context(), contract.SweepPageInput{Claim: fmt.Sprintf("test/%d", b.pages),
			Rows: rows})
		testkit.Must(b.t, err)
		total.Looked, total.Started, total.Empty, total.Skipped = total.Looked+counts.Looked,
			total.Started+counts.Started, total.Empty+counts.Empty, total.Skipped+counts.Skipped
		if !counts.More {
			return total
		}
	}
}

// execution returns the run ID of a workflow, or "" if it was never started.
func (b *sweepBundle) execution(id string) string {
	b.t.Helper()
	d, err := b.Temporal.DescribeWorkflow(b.t.Context(), id, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return ""
	}
	testkit.Must(b.t, err)
	return d.RawResponse.WorkflowExecutionInfo.Execution.RunId
}

// crashing is the real starter that fails before or after a start, as if the process had died.
type crashing struct {
	schedule.Starter
	after bool
	at    int
	crash context.CancelFunc

	mu      sync.Mutex
	started int
}

func (c *crashing) StartSlot(ctx context.Context, s scheduled.ClaimedFiring) (string, string, error) {
	c.mu.Lock()
	c.started++
	hit := c.started == c.at
	c.mu.Unlock()
	if hit && !c.after {
		c.crash()
	}
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	outcome, reason, err := c.Starter.StartSlot(ctx, s)
	if hit {
		c.crash()
	}
	if ctx.Err() != nil { // started, and no process learns of it
		return "", "", ctx.Err()
	}
	return outcome, reason, err
}

func TestAThousandDueAtOnceAreSweptOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := sweepSetup(t)
	b.reflections(1000, 50)
	if got := b.sweep(b.Sweeper, 300); got.Looked != 1000 || got.Started != 20 || got.Empty != 980 || got.Skipped != 0 {
		t.Errorf("swept %+v", got)
	}
	if n := b.number("select count(*) from reflection_runs where status = 'empty' and local_date = '2026-11-19' and " +
		"from_at is null"); n != 980 {
		t.Errorf("%d empty days", n)
	}
	for i := 50; i <= 1000; i += 50 {
		if b.execution(contract.ReflectionID(fmt.Sprintf("wdue%d", i), "2026-11-19")) == "" {
			t.Errorf("workspace %d has no reflection", i)
		}
	}
	if b.execution(contract.ReflectionID("wdue1", "2026-11-19")) != "" {
		t.Error("a workspace without a word has a reflection")
	}
	if n := b.number("select count(*) from scheduled_tasks where due_at > now() and due_key = due_date::text and " +
		"lease_until is null and slot_key = '2026-11-19' and slot_outcome in ('started', 'empty')"); n != 1000 {
		t.Errorf("%d tasks have their next firing", n)
	}
	if got := b.sweep(b.Sweeper, 300); got.Looked != 0 {
		t.Errorf("swept again %+v", got)
	}
}

// The process dies before, between and after starts, and after the claim. The same claim returns
// the same page, and each workflow is started once.
func TestACrashBetweenAnyTwoLinesLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at    int
		after bool
	}{
		"claimed, nothing started":     {at: 1},
		"some started":                 {at: 3},
		"started, and not settled":     {at: 1, after: true},
		"all started, and not settled": {at: 6, after: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sweepSetup(t)
			b.reflections(60, 10)
			ctx, crash := context.WithCancel(t.Context())
			dying := *b.Sweeper
			dying.Starter = &crashing{Starter: b.Sweeper.Starter, after: c.after, at: c.at, crash: crash}
			page := contract.SweepPageInput{Claim: "page", Rows: 100}
			if _, err := dying.Page(ctx, page); err == nil {
				t.Fatal("the crash went unnoticed")
			}
			before := map[string]string{}
			for i := 10; i <= 60; i += 10 {
				id := contract.ReflectionID(fmt.Sprintf("wdue%d", i), "2026-11-19")
				before[id] = b.execution(id)
			}
			other, err := b.Sweeper.Page(t.Context(), contract.SweepPageInput{Claim: "other", Rows: 100})
			if err != nil || other.Looked != 0 {
				t.Errorf("another page took %+v, %v", other, err)
			}
			again, err := b.Sweeper.Page(t.Context(), page)
			testkit.Must(t, err)
			if again.Looked != 60 || again.Started != 6 || again.Empty != 54 {
				t.Errorf("the page again is %+v", again)
			}
			for id, first := range before {
				if now := b.execution(id); now == "" || first != "" && now != first {
					t.Errorf("%s is %q, was %q", id, now, first)
				}
			}
			if n := b.number("select count(*) from scheduled_tasks where slot_outcome = 'started' and lease_until " +
				"is null"); n != 6 {
				t.Errorf("%d slots are settled as started", n)
			}
			if n := b.number("select count(*) from reflection_runs"); n != 54 {
				t.Errorf("%d empty days", n)
			}
		})
	}
}

// The sweep has died: no process holds the claim, and its lease ends.
func TestASlotWhoseLeaseRanOutIsAnotherPages(t *testing.T) {
	t.Parallel()
	b := sweepSetup(t)
	b.reflections(3, 1)
	taken, err := b.Store.Sweep().ClaimPage(t.Context(), "lost", 100, time.Hour, schedule.Planner{}.Plan)
	testkit.Must(t, err)
	if len(taken.Slots) != 3 {
		t.Fatalf("took %+v", taken)
	}
	if same, err := b.Store.Sweep().ClaimPage(t.Context(), "lost", 100, time.Hour,
		schedule.Planner{}.Plan); err != nil || fmt.Sprint(sorted(same.Slots)) != fmt.Sprint(sorted(taken.Slots)) {
		t.Errorf("the claim again is %+v, %v; it was %+v", same, err, taken)
	}
	b.exec("update scheduled_tasks set lease_until = now() - interval '1 second'")
	if got := b.sweep(b.Sweeper, 100); got.Started != 3 {
		t.Errorf("the next page is %+v", got)
	}
	for i := 1; i <= 3; i++ {
		if b.execution(contract.ReflectionID(fmt.Sprintf("wdue%d", i), "2026-11-19")) == "" {
			t.Errorf("workspace %d has no reflection of the date that came due", i)
		}
	}
	// The first holder resumes. It can no longer settle the slot.
	testkit.Must(t, b.Store.Sweep().SettleSlots(t.Context(), "lost",
		[]scheduled.DispatchResult{{Slot: taken.Slots[0], Outcome: schedule.Failed}}))
	if n := b.number("select count(*) from scheduled_tasks where slot_outcome = 'failed'"); n != 0 {
		t.Error("a page settled a slot of another")
	}
}

func sorted(slots []scheduled.ClaimedFiring) map[int64]string {
	out := map[int64]string{}
	for _, s := range slots {
		out[s.Task] = s.WorkspaceKey + " " + s.Key + " " + s.At.UTC().String()
	}
	return out
}

func TestADateThatHasItsReflectionGetsNoOther(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := sweepSetup(t)
	b.reflections(1, 1)
	b.exec("insert into reflection_runs (workspace_id, local_date, zone, status, to_at) select workspace_id, " +
		"'2026-11-19', 'UTC', 'saved', now() from scheduled_tasks")
	if got := b.sweep(b.Sweeper, 100); got.Started != 0 || got.Skipped != 1 {
		t.Errorf("swept %+v", got)
	}
	if b.execution(contract.ReflectionID("wdue1", "2026-11-19")) != "" {
		t.Error("the date has two reflections")
	}
	if n := b.number(
		"select count(*) from scheduled_tasks where slot_outcome = 'collapsed' and due_at > now()"); n != 1 {
		t.Error("the task was not moved on")
	}
}

func TestThePausedAndTheErasedAreLeftAlone(t *testing.T) {
	t.Parallel()
	b := sweepSetup(t)
	b.reflections(4, 1)
	b.exec("update scheduled_tasks set paused_at = now() where workspace_id = (select id from workspaces where key " +
		"= 'wdue1')")
	b.exec("update workspaces set state = 'erasing' where key = 'wdue2'")
	if got := b.sweep(b.Sweeper, 1); got.Started != 2 {
		t.Errorf("swept %+v", got)
	}
	for key, want := range map[string]bool{"wdue1": false, "wdue2": false, "wdue3": true, "wdue4": true} {
		if got := b.execution(contract.ReflectionID(key, "2026-11-19")) != ""; got != want {
			t.Errorf("%s: a reflection %t, want %t", key, got, want)
		}
	}
}

// Only messages since the last reflection start another one. The mark is a sequence number, so a
// turn that commits late is in the next window.
func TestADayIsEmptyBySequenceNumbersNotByTimes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := sweepSetup(t)
	b.reflections(3, 1)
	b.exec(`insert into conversation_marks (workspace_id, conversation_id, kind, seq) select c.workspace_id, c.id, ` +
		`'reflection', case w.key when 'wdue1' then 1 else 0 end
from conversations c join workspaces w on w.id = c.workspace_id where w.key in ('wdue1', 'wdue2')`)
	b.exec("update conversations set last_turn_at = now() - interval '40 days'")
	b.exec("update conversations set channel = 'scheduled' where workspace_id = (select id from workspaces where " +
		"key = 'wdue3')")
	if got := b.sweep(b.Sweeper, 100); got.Started != 1 || got.Empty != 2 {
		t.Errorf("swept %+v", got)
	}
	if b.execution(contract.ReflectionID("wdue2", "2026-11-19")) == "" {
		t.Error("the unread messages have no reflection")
	}
}

// The window of a reflection starts where the last finished one ended.
func TestAFailedDayIsPartOfTheNextWindow(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := sweepSetup(t)
	b.reflections(1, 1)
	b.exec(`insert into reflection_runs (workspace_id, local_date, zone, status, to_at) select workspace_id, ` +
		`d::date, 'UTC', s, d::timestamptz from scheduled_tasks,
(values ('2026-11-16', 'saved'), ('2026-11-17', 'empty'), ('2026-11-18', 'failed')) v(d, s)`)
	page, err := b.Store.Sweep().ClaimPage(t.Context(), "window", 10, time.Minute, schedule.Planner{}.Plan)
	testkit.Must(t, err)
	if len(page.Slots) != 1 || page.Slots[0].ReflectedTo.UTC().Format(time.DateOnly) != "2026-11-17" {
		t.Errorf("took %+v", page.Slots)
	}
}
