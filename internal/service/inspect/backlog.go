package inspect

import (
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/service/schedule"
)

// Backlog counts unfinished work and failures in all workspaces.
type Backlog struct {
	Runs         map[run.Kind]Waiting      // open runs; every kind has an entry
	Duties       map[string]Waiting        // rows of the outbox; every kind has an entry
	Stuck        map[string]Waiting        // rows of the outbox that fail again and again; every kind has an entry
	LostCommits  int64                     // activities that did not find their run after a restore, ever
	UnknownCalls int64                     // in flight at a crash and not repeated; possibly billed
	Due          map[schedule.Kind]Waiting // tasks that the sweep has not taken; every kind has an entry
	Canaries     Waiting                   // updated policies that part of the live builds tries
	FailedDays   int64                     // days whose reflections failed permanently
	EmptyWeek    int64                     // workspaces with messages but a week of empty reflections
}

// Waiting is the number of waiting objects and the age of the oldest one.
type Waiting struct {
	Count  int64
	Oldest time.Duration // 0 if nothing waits
}
