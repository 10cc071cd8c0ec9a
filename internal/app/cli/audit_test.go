package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// lines are the events of an export.
func lines(t *testing.T, text string) (out []audit.Event) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e audit.Event
		testkit.Must(t, json.Unmarshal([]byte(line), &e))
		out = append(out, e)
	}
	return out
}

// did summarizes events, the first act first.
func did(all []audit.Event) (out []string) {
	for _, e := range slices.Backward(all) {
		out = append(out, string(e.Action)+" "+e.Object)
	}
	return out
}

func TestCommandsAreRecordedWithTheirAccount(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.succeeds(t, "", "keys", "create", "--name", "shop")
	w.succeeds(t, "", "keys", "rotate", "1")
	w.succeeds(t, "", "keys", "revoke", "1")
	if code, _, _ := w.run("", "keys", "revoke", "1"); code != 3 {
		t.Errorf("exit %d", code)
	}
	w.succeeds(t, "", "settings", "set", "nudge.every=7")
	w.succeeds(t, "", "settings", "set", "nudge.every=7") // changes nothing
	dumped := filepath.Join(w.folder, "dump.ndjson")
	w.succeeds(t, "", "memories", "dump", dumped)
	w.succeeds(t, "", "memories", "copy", "--from", "test", "--workspace", "copied")
	w.Say("old-talk", 1, "Hello, I am Ada.")
	w.succeeds(t, "", "erase", "--conversation", "old-talk", "--dry-run")
	w.succeeds(t, "", "erase", "--conversation", "old-talk", "--yes")

	events := lines(t, w.succeeds(t, "", "audit", "export"))
	want := []string{"key.create key 1", "key.rotate key 1, replaced by key 2", "key.revoke key 1",
		"settings.change nudge", "memories.dump memories", "memories.copy to workspace 2",
		"erase.conversation erasure 1 of conversation 1"}
	if got := did(events); !slices.Equal(got, want) {
		t.Errorf("exported %q, want %q", got, want)
	}
	for _, e := range events {
		if e.Actor != (audit.Author{Kind: audit.CLI, Name: account()}) || e.Actor.Name == "" || e.At.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if got := did(lines(t, w.succeeds(t, "", "audit", "export", "-w", "copied"))); !slices.Equal(got,
		[]string{"memories.copy from workspace 1"}) {
		t.Errorf("the copy has %q", got)
	}
	w.succeeds(t, "", "keys", "create", "--operator", "--name", "ui", "--scopes", "codec")
	w.succeeds(t, "", "keys", "revoke", "--operator", "1")
	w.succeeds(t, "", "erase", "copied", "--yes")
	all := did(lines(t, w.succeeds(t, "", "audit", "export", "--operator")))
	want = []string{
		"key.create operator key 1",
		"key.revoke operator key 1",
		"erase.workspace erasure 2 of workspace 2",
	}
	if !strings.HasPrefix(all[0], "schema.migrate version ") || !slices.Equal(all[len(all)-3:], want) {
		t.Errorf("acts of operators %q", all)
	}
}

func TestAuditExportFiltersAndWritesFiles(t *testing.T) {
	t.Parallel()
	w := idle(t)
	w.succeeds(t, "", "keys", "create", "--name", "shop")
	w.succeeds(t, "", "settings", "set", "nudge.every=7")
	file := filepath.Join(w.folder, "all.ndjson")
	if out := w.succeeds(t, "", "audit", "export", file, "--since", "2020-01-01", "--action", "key.create"); out != "" {
		t.Errorf("printed %s", out)
	}
	raw, err := os.ReadFile(file)
	testkit.Must(t, err)
	if got := did(lines(t, string(raw))); !slices.Equal(got, []string{"key.create key 1"}) {
		t.Errorf("exported %q", got)
	}
	if out := w.succeeds(t, "", "audit", "export", "-", "--until", "2020-01-01T09:00:00Z"); out != "" {
		t.Errorf("before all: %s", out)
	}
	for _, c := range []struct {
		code int
		args []string
	}{{2, []string{"--action", "key.steal"}}, {2, []string{"--since", "yesterday"}}, {2, []string{"--until", "x"}},
		{2, []string{"--since", "2027-02-01", "--until", "2027-01-31"}},
		{2, []string{filepath.Join(w.folder, "none", "x")}}, {2, []string{"a", "b"}}, {3, []string{"-w", "none"}}} {
		code, out, errs := w.run("", append([]string{"audit", "export", "-o", "json"}, c.args...)...)
		var refused struct {
			Error struct {
				Code fault.Code
				Hint string
			}
		}
		if err := json.Unmarshal([]byte(errs), &refused); err != nil || code != c.code || out != "" ||
			refused.Error.Code == "" || refused.Error.Hint == "" {
			t.Errorf("%v: exit %d, want %d, %v: %s%s", c.args, code, c.code, err, out, errs)
		}
	}
}
