package cli

import (
	"strings"
	"testing"
)

// A run is named by its ID only. Another form is a mistake in the command, an unknown ID is not found.
func TestARunIsNamedByItsID(t *testing.T) {
	t.Parallel()
	w := idle(t)
	const unknown = "run_00000000000000000000000000"
	for _, args := range [][]string{{"runs", "show"}, {"runs", "retry"}, {"runs", "retry", "--fresh"}} {
		for _, id := range []string{"1", "0", "first", "run_1", unknown + "0", strings.ToUpper(unknown),
			" " + unknown, ""} {
			code, out, errs := w.run("", append(args, id)...)
			if code != 2 || out != "" || !strings.Contains(errs, "invalid run ID") ||
				!strings.Contains(errs, "[invalid_argument]") || !strings.Contains(errs, "`cairn runs list`") {
				t.Errorf("%s %q: exit %d, %s%s", args, id, code, out, errs)
			}
		}
		if code, _, errs := w.run("", append(args, unknown)...); code != 3 || !strings.Contains(errs, "[not_found]") ||
			!strings.Contains(errs, "`cairn runs list`") {
			t.Errorf("%s of an unknown run: exit %d, %s", args, code, errs)
		}
	}
}
