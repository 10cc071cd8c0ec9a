package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMemoriesListShowsAllMemoriesWithTheirSubject(t *testing.T) {
	t.Parallel()
	w := idle(t)
	run := func(args ...string) string {
		t.Helper()
		code, out, errs := w.run("", append([]string{"memories"}, args...)...)
		if code != 0 {
			t.Fatalf("%v: exit %d, %s%s", args, code, out, errs)
		}
		return out
	}
	if out := run("list"); !strings.Contains(out, `no memories in workspace "test"`) {
		t.Errorf("empty: %s", out)
	}
	run("add", "Answers in English.")
	run("add", "Flies from Osaka only.", "--type", "personal", "--target", "Alice Liddell")
	run("add", "Peel them first.", "--type", "procedural", "--target", "cooking")
	all := run("list")
	for _, want := range []string{"SUBJECT", "Answers in English.", "Alice Liddell", "Flies from Osaka only.",
		"cooking", "core is "} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "Answers in English.|Flies from Osaka only.|Peel them first."},
		{[]string{"--store", "core"}, "Answers in English."},
		{[]string{"--type", "procedural"}, "Peel them first."},
		{[]string{"--target", "alice liddell"}, "Flies from Osaka only."},
		{[]string{"--newest"}, "Peel them first.|Flies from Osaka only."},
	} {
		got := strings.Split(strings.TrimSpace(run(append([]string{"list", "-o", "text"}, c.args...)...)), "\n")
		if strings.Join(got, "|") != c.want {
			t.Errorf("%v: %v, want %s", c.args, got, c.want)
		}
	}
	var listed struct {
		Memories []struct{ Type, Target, Subject, Content string }
		Usage    map[string]int `json:"usage_percent"`
	}
	if err := json.Unmarshal([]byte(run("list", "-o", "json")), &listed); err != nil || len(listed.Memories) != 3 ||
		listed.Memories[1].Subject != "Alice Liddell" || listed.Memories[1].Target != "Alice Liddell" ||
		len(listed.Usage) != 2 {
		t.Errorf("%v: %+v", err, listed)
	}
}

// The report of a load says what existed, and what was no memory.
func TestMemoriesLoadReportsWhatExisted(t *testing.T) {
	t.Parallel()
	w := idle(t)
	w.write("rows.ndjson", `{"memory_type":"personal","memory_target":"Ann","content":"Keeps bees."}`+"\n")
	var loaded map[string]any
	for _, existing := range []int{0, 2} { // the memory and its target
		code, out, errs := w.run("", "memories", "load", "rows.ndjson", "-o", "json")
		if err := json.Unmarshal([]byte(out), &loaded); err != nil || code != 0 ||
			loaded["existing"] != float64(existing) {
			t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
		}
		if _, former := loaded["skipped"]; former {
			t.Errorf("%s", out)
		}
	}
}
