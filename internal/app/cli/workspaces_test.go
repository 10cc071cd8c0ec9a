package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

func TestWorkspacesAreCreatedAndListed(t *testing.T) {
	t.Parallel()
	w := idle(t)
	must := func(args ...string) string {
		t.Helper()
		code, out, errs := w.run("", args...)
		if code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, errs)
		}
		return out
	}
	for _, name := range []string{"list-b", "list-a", "list-c", "list-a"} {
		if out := must("workspaces", "create", name); !strings.Contains(out, name) {
			t.Errorf("create %s: %s", name, out)
		}
	}
	var page struct {
		Workspaces []struct{ Name, State string }
		Next       string
	}
	testkit.Must(
		t,
		json.Unmarshal([]byte(must("workspaces", "list", "--prefix", "list-", "--limit", "2", "-o", "json")),
			&page),
	)
	if len(page.Workspaces) != 2 || page.Workspaces[0].Name != "list-a" || page.Workspaces[1].State != "active" ||
		page.Next != "list-b" {
		t.Errorf("first page %+v", page)
	}
	if out := must("workspaces", "list", "--prefix", "list-", "--after", page.Next); !strings.Contains(out, "list-c") ||
		strings.Contains(out, "list-b") {
		t.Errorf("second page:\n%s", out)
	}
	if out := must("workspaces", "list", "--prefix", "nobody"); out != "no workspaces\n" {
		t.Errorf("empty list: %q", out)
	}
}

func TestAMisspelledWorkspaceIsNotCreatedBySettings(t *testing.T) {
	t.Parallel()
	w := idle(t)
	for _, args := range [][]string{{"set", "nudge.every=5"}, {"show"}} {
		code, _, errs := w.run("", append([]string{"-w", "typo", "settings"}, args...)...)
		if code != 3 || !strings.Contains(errs, `workspace "typo" not found`) ||
			!strings.Contains(errs, "cairn workspaces list") {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
	if _, out, _ := w.run("", "workspaces", "list", "--prefix", "typo"); out != "no workspaces\n" {
		t.Errorf("created: %s", out)
	}
	if code, _, errs := w.run("", "workspaces", "create", "typo"); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := w.run("", "-w", "typo", "settings", "set", "nudge.every=5"); code != 0 {
		t.Error(errs)
	}
}
