package cli

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/testkit"
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

// Ctrl-C ends the waiting of a command, not the run. The message says how to wait again.
func TestARunOutlivesCtrlC(t *testing.T) {
	t.Parallel()
	w := idle(t)
	ctx, interrupt := context.WithCancel(t.Context())
	var errs bytes.Buffer
	code := make(chan int)
	go func() {
		code <- execute(ctx, []string{"distill", filepath.Join(w.folder, "conversation.json")}, w.environ,
			strings.NewReader(""), io.Discard, &errs)
	}()
	testkit.Eventually(t, "the run is stored", func() bool {
		_, out, _ := w.run("", "runs", "list")
		return strings.Contains(out, "run_")
	})
	interrupt()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit %d: %s", got, &errs)
	}
	_, command, found := strings.Cut(errs.String(), "interrupted; the run continues: cairn ")
	if !found {
		t.Fatalf("%s", &errs)
	}
	w.Start()
	if code, out, errs := w.run("", strings.Fields(command)...); code != 0 || !strings.Contains(out, "model calls") {
		t.Errorf("cairn %s: exit %d: %s%s", command, code, out, errs)
	}
}
