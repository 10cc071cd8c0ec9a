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
