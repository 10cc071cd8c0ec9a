package devstack

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// journal reports progress to people, one line at a time. Both servers start at once and share it.
type journal struct {
	mu sync.Mutex
	to io.Writer
}

func newJournal(to io.Writer) *journal {
	if to == nil {
		to = io.Discard
	}
	return &journal{to: to}
}

func (j *journal) say(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.to, format+"\n", args...)
}

// task announces a long operation. The returned function reports its duration.
func (j *journal) task(name, expectation string) func(error) {
	began := time.Now()
	j.say("%s (%s) …", name, expectation)
	return func(err error) {
		took := time.Since(began).Round(100 * time.Millisecond)
		if err != nil {
			j.say("%s … failed after %s", name, took)
			return
		}
		j.say("%s … %s", name, took)
	}
}
