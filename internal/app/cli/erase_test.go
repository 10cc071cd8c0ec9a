package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
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
	w.knowsAda(t)
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
	var plan erasure.Plan
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
	var e erasure.Erasure
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

func TestEraseOfATargetAsksCountsAndListsWhatIsMixed(t *testing.T) {
	t.Parallel()
	w := open(t)
	if code, _, errs := w.run("", "erase", "--target", "Ada", "--yes"); code != 3 ||
		!strings.Contains(errs, "cairn targets") {
		t.Errorf("exit %d: %s", code, errs)
	}
	w.knowsAda(t)
	for _, args := range [][]string{{"erase", "no-longer-needed", "--target", "Ada"},
		{"erase", "--target", "Ada", "--conversation", "x"}, {"erase", "--target", "Ada", "--derived", "keep"}} {
		if code, _, errs := w.run("", args...); code != 2 {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
	code, out, errs := w.run("", "erase", "--target", "ada", "--dry-run")
	if code != 0 || !strings.Contains(out, "memories          2") || !strings.Contains(out, "NEEDS REVIEW") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := w.run("Ben\n", "erase", "--target", "Ada"); code != 10 || out != "" ||
		!strings.Contains(errs, "Type Ada to erase it") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	code, out, errs = w.run("Ada\n", "erase", "--target", "Ada", "-o", "json")
	var e erasure.Erasure
	if err := json.Unmarshal([]byte(out), &e); err != nil || code != 0 || !e.Ended || e.Deleted["memories"] != 2 ||
		e.Subject == "" || len(e.NeedsReview) != 1 || e.NeedsReview[0].Kind != "memory" ||
		!strings.Contains(out, `"target": "Ada"`) {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
	for table, n := range e.Remaining {
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	code, out, _ = w.run("", "targets")
	if code != 0 || strings.Contains(out, "Ada") || !strings.Contains(out, "Ben") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// knowsAda makes memories of Ada and of Ben, and one of Ben that a client of mem0 has stored with
// Ada as the agent.
func (w *world) knowsAda(t *testing.T) {
	t.Helper()
	for _, m := range [][2]string{{"Ada", "Likes tea."}, {"Ada", "Lives in Kyoto."}, {"Ben", "Likes milk."}} {
		a := agent.Actor{Workspace: w.Workspace.ID, Origin: agent.OriginUser, Op: m[1],
			Subject: agent.MemoryScope{Type: "personal", Target: m[0]}}
		metadata := memory.Metadata{"mem0": map[string]any{"user_id": m[0], "agent_id": "Ada"}}
		_, err := w.LongTerm.AddMemories(t.Context(), a, []memories.NewMemory{{Content: m[1], Metadata: metadata}})
		testkit.Must(t, err)
	}
}

// A person names a subject in the command line: the ID itself wins, another spelling of one subject means
// this subject, and of several subjects the person has to choose. The output says which one was meant.
func TestEraseByNameSaysWhichSubjectItMeans(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, id := range []string{"Jo Li", "ab", "A-B"} {
		code, _, errs := w.run("", "memories", "add", "Keeps bees.", "--type", "personal", "--target", id)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
	}
	for _, id := range []string{"ab", "A-B"} {
		code, out, errs := w.run("", "memories", "list", "--target", id, "-o", "json")
		if code != 0 || strings.Count(out, "Keeps bees.") != 1 || !strings.Contains(out, `"subject": "`+id+`"`) {
			t.Errorf("%s: exit %d: %s%s", id, code, out, errs)
		}
	}
	code, out, errs := w.run("", "erase", "--target", "a b", "--yes")
	if code == 0 || !strings.Contains(errs, `"ab"`) || !strings.Contains(errs, `"A-B"`) {
		t.Errorf("a name of two subjects: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs = w.run("", "erase", "--target", "joli", "--dry-run"); code != 0 ||
		!strings.Contains(out, `subject: "Jo Li"`) {
		t.Errorf("a plan: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs = w.run("Jo Li\n", "erase", "--target", "joli"); code != 0 ||
		!strings.Contains(errs, `"joli" is the subject "Jo Li"`) || !strings.Contains(out, `erased subject: "Jo Li"`) {
		t.Errorf("another spelling: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs = w.run("", "erase", "--target", "ab", "--yes", "-o", "json"); code != 0 ||
		!strings.Contains(out, `"target": "ab"`) {
		t.Errorf("the ID: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := w.run("", "memories", "list", "--target", "A-B"); code != 0 ||
		!strings.Contains(out, "Keeps bees.") {
		t.Errorf("the other subject: exit %d: %s%s", code, out, errs)
	}
}
