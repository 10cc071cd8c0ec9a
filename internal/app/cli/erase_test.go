package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/service/erase"
	"cairn/internal/testkit"
)

// erasable makes what the examples of erase name.
func (w *world) erasable(t *testing.T) {
	t.Helper()
	for _, name := range []string{"default", "no-longer-needed"} {
		_, err := w.Store.Workspace(t.Context(), name, true)
		testkit.Must(t, err)
	}
	w.Say("old-talk", 1, "Hello, I am Ada.")
}

func TestEraseAsksCountsAndProves(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.erasable(t)
	if code, _, errs := w.run("", "distill", "conversation.json"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, args := range [][]string{{"erase"}, {"erase", "test", "--conversation", "old-talk"},
		{"erase", "test", "--derived", "delete"}, {"erase", "test", "-w", "other"}} {
		if code, _, errs := w.run("", args...); code != 2 {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
	code, out, errs := w.run("", "erase", "test", "--dry-run", "-o", "json")
	var plan erase.Plan
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != 0 || plan.Rows["skills"] == 0 ||
		plan.Rows["conversations"] != 2 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if code, out, errs := w.run("tset\n", "erase", "test"); code != 10 || out != "" ||
		!strings.Contains(errs, "nothing was erased") || !strings.Contains(errs, "Type test to erase it") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := w.run("old-talk\n", "erase", "--conversation", "old-talk"); code != 0 ||
		!strings.Contains(out, "conversations   1        0") || !strings.Contains(out, "completed") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := w.run("", "erase", "--conversation", "old-talk", "--yes"); code != 3 {
		t.Errorf("exit %d: %s", code, errs)
	}

	code, out, errs = w.run("", "erase", "test", "--yes", "-o", "json")
	var e erase.Erasure
	if err := json.Unmarshal([]byte(out), &e); err != nil || code != 0 || !e.Ended ||
		e.Deleted["skills"] != plan.Rows["skills"] || e.Deleted["workspaces"] != 1 || e.Objects == 0 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	for table, n := range e.Remaining {
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if code, _, errs := w.run("", "erase", "test", "--yes"); code != 3 {
		t.Errorf("exit %d: %s", code, errs)
	}
}
