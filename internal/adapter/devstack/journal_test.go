package devstack

import (
	"strings"
	"testing"
	"time"
)

// written sends each write of a journal to a channel.
type written chan string

func (w written) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

func TestTaskReportsTheElapsedTimeWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, terminal := range map[string]bool{"file": false, "terminal": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := make(written, 1000)
			j := &journal{to: lines, terminal: terminal, every: time.Millisecond}
			done := j.task("building it", "2 to 5 minutes, once")
			if first := <-lines; !strings.Contains(first, "building it: 2 to 5 minutes, once") {
				t.Errorf("announced %q", first)
			}
			next := <-lines
			if !strings.Contains(next, "building it: 2 to 5 minutes, once (0 s so far)") ||
				strings.HasPrefix(next, clearLine) != terminal || strings.HasSuffix(next, "\n") == terminal {
				t.Errorf("reported %q", next)
			}
			done(nil)
			close(lines)
			last := ""
			for line := range lines {
				last = line
			}
			if last != "building it: done in 0 s\n" {
				t.Errorf("ended with %q", last)
			}
		})
	}
	for d, want := range map[time.Duration]string{44600 * time.Millisecond: "45 s", 80 * time.Second: "1 min 20 s"} {
		if got := elapsed(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
