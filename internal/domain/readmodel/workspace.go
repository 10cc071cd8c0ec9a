package readmodel

import (
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/scheduled"
)

// Backlog counts unfinished work and failures in all workspaces.
type Backlog struct {
	Runs         map[run.Kind]Waiting       // open runs; every kind has an entry
	Duties       map[string]Waiting         // rows of the outbox; every kind has an entry
	Stuck        map[string]Waiting         // rows of the outbox that fail again and again; every kind has an entry
	LostCommits  int64                      // activities that did not find their run after a restore, ever
	UnknownCalls int64                      // in flight at a crash and not repeated; possibly billed
	Due          map[scheduled.Kind]Waiting // tasks that the sweep has not taken; every kind has an entry
	Canaries     Waiting                    // updated policies that part of the live builds tries
	FailedDays   int64                      // days whose reflections failed permanently
	EmptyWeek    int64                      // workspaces with messages but a week of empty reflections
}

// Waiting is the number of waiting objects and the age of the oldest one.
type Waiting struct {
	Count  int64
	Oldest time.Duration // 0 if nothing waits
}

// StoredExchange is a model call with the bytes of its request and its reply, nil without one.
type StoredExchange struct {
	run.Call
	Request string // empty if a part of it was erased
	Reply   *llm.Reply
}

// Entity is a subject of memories in the terms of mem0.
type Entity struct {
	Kind     string // user, agent, app or run
	Name     string
	Memories int64 // number of active memories
	FirstAt  time.Time
	LastAt   time.Time
}
