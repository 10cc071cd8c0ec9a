package inspect

import (
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/service/schedule"
)

// Backlog is what needs a look, counted across workspaces.
type Backlog struct {
	Runs         map[run.Kind]Waiting      // open ones; each kind has an entry
	Duties       map[string]Waiting        // rows of the outbox; each kind has an entry
	UnknownCalls int64                     // in flight at a crash and not sent again: perhaps paid
	Due          map[schedule.Kind]Waiting // tasks that the sweep has not taken; each kind has an entry
	Canaries     Waiting                   // updated policies that a share of the live builds tries
	FailedDays   int64                     // whose reflections failed so often that they are given up
	Unheard      int64                     // workspaces whose days were empty for a week although people talked
}

// Waiting is how much waits, and for how long the oldest of it has.
type Waiting struct {
	Count  int64
	Oldest time.Duration // 0 when nothing waits
}
