package devstack

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// journal reports progress to people. Both servers start at once and share it. On a terminal, the
// last line shows the running task and is updated in place.
type journal struct {
	mu       sync.Mutex
	to       io.Writer
	terminal bool
	every    time.Duration // between two reports of a running task
	status   bool          // whether the last line is a status line
}

// Intervals between two reports of a running task.
const (
	everyOnTerminal = time.Second
	everyElsewhere  = 30 * time.Second
)

// clearLine returns to the start of a terminal's line and erases it.
const clearLine = "\r\x1b[2K"

func newJournal(to io.Writer) *journal {
	if to == nil {
		to = io.Discard
	}
	j := &journal{to: to, every: everyElsewhere}
	if f, ok := to.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		j.terminal, j.every = true, everyOnTerminal
	}
	return j
}

func (j *journal) say(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.status {
		fmt.Fprint(j.to, clearLine)
		j.status = false
	}
	fmt.Fprintf(j.to, format+"\n", args...)
}

// report prints the state of a running task.
func (j *journal) report(line string) {
	if !j.terminal {
		j.say("%s", line)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprint(j.to, clearLine+line)
	j.status = true
}

// task announces a long operation with its expected duration and reports the elapsed time until the
// returned function is called, which reports the total time.
func (j *journal) task(name, expectation string) func(error) {
	began := time.Now()
	j.report(name + ": " + expectation)
	ended := make(chan struct{})
	var reports sync.WaitGroup
	reports.Go(func() {
		ticker := time.NewTicker(j.every)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				j.report(fmt.Sprintf("%s: %s (%s so far)", name, expectation, elapsed(time.Since(began))))
			}
		}
	})
	return func(err error) {
		close(ended)
		reports.Wait()
		result := "done in"
		if err != nil {
			result = "failed after"
		}
		j.say("%s: %s %s", name, result, elapsed(time.Since(began)))
	}
}

// elapsed formats a duration, such as "45 s" or "1 min 20 s".
func elapsed(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	if seconds < 60 {
		return fmt.Sprintf("%d s", seconds)
	}
	return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
}
