package cli

import (
	"regexp"
	"strings"
	"testing"

	"cairn/internal/app/config"
)

// A run that the limit of cost has ended names the setting, and a command that raises it.
func TestTheErrorOfASpentBudgetSaysHowToRaiseIt(t *testing.T) {
	t.Parallel()
	w := open(t, func(c *config.Config) {
		c.Prices = `{"offline-rules":{"input_micros":900000000,"output_micros":900000000}}`
	})
	code, out, errs := w.run("", "distill", "conversation.json")
	commands := regexp.MustCompile("`cairn (settings set micros_per_day=[0-9a-z]+)`").FindStringSubmatch(errs)
	failed := regexp.MustCompile("run (run_[0-9a-z]+) ").FindStringSubmatch(errs)
	if code != 5 || !strings.Contains(errs, "5 $ of micros_per_day") || commands == nil || failed == nil {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := w.run(
		"",
		strings.Fields(commands[1])...); code != 0 ||
		!strings.Contains(out, "micros_per_day") {
		t.Fatalf("%s: exit %d: %s%s", commands[1], code, out, errs)
	}
	for _, value := range []string{"-1", "free", "NaN", "1e999", "1000000000001", `"5"`} {
		if code, _, errs := w.run("", "settings", "set", "micros_per_day="+value); code != 2 ||
			!strings.Contains(errs, "micros_per_day") || !strings.Contains(errs, "hint: ") {
			t.Errorf("micros_per_day=%s: exit %d: %s", value, code, errs)
		}
	}
	if code, out, errs := w.run("", "settings", "set", "micros_per_day=unlimited"); code != 0 ||
		!strings.Contains(out, "unlimited") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := w.run("", "runs", "retry", failed[1]); code != 0 || !strings.Contains(out, "completed") {
		t.Errorf("a retry without a limit: exit %d: %s%s", code, out, errs)
	}
}
