package cli

import (
	"strings"
	"testing"
)

func TestSettingsChooseAgentsThatAreThere(t *testing.T) {
	t.Parallel()
	w := idle(t)
	for _, c := range []struct{ arg, says string }{
		{"memory.agents.personal=v9", `memory.agents.personal: agent version "v9"`}, {"memory.agents.cook=v1", "cook"},
		{"memory.modes.tool.thinking=aloud", "memory.modes.tool.thinking"},
	} {
		if code, _, errs := w.run("", "settings", "set", c.arg); code != 2 || !strings.Contains(errs, c.says) ||
			!strings.Contains(errs, "hint: ") {
			t.Errorf("%s: exit %d: %s", c.arg, code, errs)
		}
	}
	code, out, errs := w.run("", "settings", "set", "memory.agents.personal=v1", "memory.modes.tool.thinking=none")
	if code != 0 || !strings.Contains(out, "memory.agents.personal") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	if _, out, _ = w.run("", "settings", "show"); strings.Contains(out, "v9") || strings.Contains(out, "aloud") {
		t.Errorf("what was refused is kept:\n%s", out)
	}
}

func TestSettingsShowsTheNamedAndTheChangedOnes(t *testing.T) {
	t.Parallel()
	w := idle(t)
	lines := func(args ...string) []string {
		t.Helper()
		code, out, errs := w.run("", append([]string{"settings"}, args...)...)
		if code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, errs)
		}
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	changed := lines("set", "nudge.every=7", "time_zone=Asia/Shanghai")
	if len(changed) != 3 || strings.Fields(changed[1])[1] != "7" || strings.Fields(changed[2])[1] != "Asia/Shanghai" {
		t.Errorf("changed: %q", changed)
	}
	if again := lines("set", "nudge.every=7"); again[0] != "no setting changed" {
		t.Errorf("set again: %q", again)
	}
	if one := lines("show", "nudge.every"); len(one) != 2 || strings.Fields(one[1])[1] != "7" {
		t.Errorf("one setting: %q", one)
	}
	if group := lines("show", "nudge", "-o", "json"); !strings.Contains(strings.Join(group, ""), `"nudge.every": 7`) {
		t.Errorf("a group: %q", group)
	}
	if code, _, errs := w.run(
		"",
		"settings",
		"show",
		"nudge.evry",
	); code != 3 ||
		!strings.Contains(errs, "nudge.evry") {
		t.Errorf("unknown name: exit %d: %s", code, errs)
	}
	if code, _, errs := w.run("", "settings", "set", "nudge.every=1000001"); code != 2 ||
		!strings.Contains(errs, "must be 0 to 1000000") || !strings.Contains(errs, "nudge.every=default") {
		t.Errorf("too large: exit %d: %s", code, errs)
	}
}
