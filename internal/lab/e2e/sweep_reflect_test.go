package e2e_test

import (
	"testing"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// A message leads to a sweep, a reflection, and the next night. After the reflection, the next
// day has no new messages and starts no workflow.
func TestASweptDayIsReflectedOnAndTheNextOneIsEmpty(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	scriptReflection(b, noting("Ada moved to Osaka.", 1))
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	b.Say("c", 1, "I moved to Osaka today.")
	day := func(date string) contract.SweepCounts {
		t.Helper()
		exec(b, `delete from cairn.scheduled_tasks where kind <> 'reflection'`)
		exec(b, `update cairn.scheduled_tasks set due_at = now(), due_date = $1::text::date, due_key = $1`, date)
		return swept(b, "sweep-"+date, contract.SweepInput{})
	}
	now := time.Now().UTC()
	first, second := now.Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)
	if got := day(first); got.Started != 1 || got.Empty != 0 {
		t.Fatalf("swept %+v", got)
	}
	var out contract.ReflectionResult
	testkit.Must(t, b.Temporal.GetWorkflow(t.Context(), contract.ReflectionID(b.Workspace.Key, first), "").
		Get(t.Context(), &out))
	if out.Status != "saved" {
		t.Errorf("reflected %+v", out)
	}
	if got := day(second); got.Started != 0 || got.Empty != 1 {
		t.Errorf("swept the next day %+v", got)
	}
	b.Say("c", 2, "And I found a flat.")
	if got := day(now.AddDate(0, 0, 2).Format(time.DateOnly)); got.Started != 1 {
		t.Errorf("swept the day after %+v", got)
	}
}
