package soak

import (
	"time"

	"cairn/internal/bench/audit"
)

// Result is what was done and what was counted afterwards.
type Result struct {
	Seed    uint64   `json:"seed"`
	Options Did      `json:"options"`
	Kills   int      `json:"kills"`
	Exits   int      `json:"exits"`   // of a worker by itself
	Refused []string `json:"refused"` // messages and ends that were turned down for good

	Lost     Lost        `json:"lost"`
	Doubled  Duplicates  `json:"doubled"`
	Reviews  Reviews     `json:"reviews"`
	Calls    audit.Calls `json:"calls"`
	Stuck    Stuck       `json:"stuck"`
	Findings []string    `json:"findings"` // what is behind every count that should be 0

	Answers  Times         `json:"answer_times"`
	Answered time.Duration `json:"answered_ns"` // from the first message to the last answer, under fire
	Drained  time.Duration `json:"drained_ns"`  // from there to the end of every review and workflow
	Total    time.Duration `json:"total_ns"`    // with the servers' start and the audit
}

// Did is how much was asked for.
type Did struct {
	Conversations int           `json:"conversations"`
	Turns         int           `json:"turns"` // of each
	Goal          time.Duration `json:"goal_ns"`
}

// Lost is what was accepted, or done, and is not there.
type Lost struct {
	Turns    int `json:"turns"` // without the answer that the model gave
	Memories int `json:"memories"`
}

// Duplicates is what is there more often than it should be.
type Duplicates struct {
	Turns       int `json:"turns"`       // with more messages than they are made of
	Transcripts int `json:"transcripts"` // with gaps, or turns inside each other
	Memories    int `json:"memories"`
	AllTurns    int `json:"all_turns"`
	AllMemories int `json:"all_memories"`
}

// Reviews is how they differ from what internal/domain/nudge asks for.
type Reviews struct {
	Wanted   int `json:"wanted"`
	Missing  int `json:"missing"`
	Extra    int `json:"extra"`
	Astray   int `json:"astray"`   // that looked for something else, or did not end well
	Counters int `json:"counters"` // conversations whose counters are not as they should be
}

// Stuck is what Temporal or the outbox still hold, or hold as failed.
type Stuck struct {
	Open      int `json:"open"`
	Failed    int `json:"failed"`
	Runs      int `json:"runs"`
	Duties    int `json:"duties"`
	Workflows int `json:"workflows"`
}

// Times are quantiles of the time from a message's acceptance to its answer.
type Times struct {
	Median time.Duration `json:"median_ns"`
	P95    time.Duration `json:"p95_ns"`
	Most   time.Duration `json:"most_ns"`
}

// Sum is what the bar is 0 for.
func (d Duplicates) Sum() int { return d.Turns + d.Transcripts }

// Sum is what the bar is 0 for.
func (r Reviews) Sum() int { return r.Missing + r.Extra + r.Astray + r.Counters }

// Sum is what the bar is 0 for.
func (s Stuck) Sum() int { return s.Open + s.Failed + s.Runs + s.Duties }

// Held tells whether every promise was kept, and in time.
func (r Result) Held() bool {
	return r.Lost.Turns+r.Lost.Memories+r.Doubled.Sum()+r.Doubled.Memories+r.Calls.PaidTwice+r.Reviews.Sum()+
		r.Stuck.Sum()+len(r.Refused) == 0 && r.Total <= r.Options.Goal
}
