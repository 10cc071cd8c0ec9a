package soak

import (
	"time"

	"cairn/internal/lab/bench/audit"
)

// Result holds the counts of the experiment.
type Result struct {
	Seed    uint64   `json:"seed"`
	Options Did      `json:"options"`
	Kills   int      `json:"kills"`
	Exits   int      `json:"exits"`   // worker exits without a kill
	Refused []string `json:"refused"` // messages and ends that were permanently rejected

	Lost     Lost        `json:"lost"`
	Doubled  Duplicates  `json:"doubled"`
	Reviews  Reviews     `json:"reviews"`
	Calls    audit.Calls `json:"calls"`
	Stuck    Stuck       `json:"stuck"`
	Findings []string    `json:"findings"` // details of each count that should be 0

	Answers  Times         `json:"answer_times"`
	Answered time.Duration `json:"answered_ns"` // time from the first message to the last reply
	Drained  time.Duration `json:"drained_ns"`  // time from there to the end of all reviews and workflows
	Total    time.Duration `json:"total_ns"`    // total time, including the start of the servers and the audit
}

// Did is the size of the experiment.
type Did struct {
	Conversations int `json:"conversations"`
	Turns         int `json:"turns"` // per conversation
}

// Lost counts accepted work whose result is missing.
type Lost struct {
	Turns    int `json:"turns"` // turns without the model's reply
	Memories int `json:"memories"`
}

// Duplicates counts duplicated objects.
type Duplicates struct {
	Turns       int `json:"turns"`       // turns with extra messages
	Transcripts int `json:"transcripts"` // transcripts with gaps or interleaved turns
	Memories    int `json:"memories"`
	AllTurns    int `json:"all_turns"`
	AllMemories int `json:"all_memories"`
}

// Reviews counts differences from the reviews that internal/domain/nudge requires.
type Reviews struct {
	Wanted   int `json:"wanted"`
	Missing  int `json:"missing"`
	Extra    int `json:"extra"`
	Astray   int `json:"astray"`   // reviews with another kind, or that failed
	Counters int `json:"counters"` // conversations with wrong counters
}

// Stuck counts open and failed work in Temporal and the outbox.
type Stuck struct {
	Open      int `json:"open"`
	Failed    int `json:"failed"`
	Runs      int `json:"runs"`
	Duties    int `json:"duties"`
	Workflows int `json:"workflows"`
}

// Times holds quantiles of the time from a message's acceptance to its reply.
type Times struct {
	Median time.Duration `json:"median_ns"`
	P95    time.Duration `json:"p95_ns"`
	Most   time.Duration `json:"most_ns"`
}

// Sum is the number that must be 0.
func (d Duplicates) Sum() int { return d.Turns + d.Transcripts }

// Sum is the number that must be 0.
func (r Reviews) Sum() int { return r.Missing + r.Extra + r.Astray + r.Counters }

// Sum is the number that must be 0.
func (s Stuck) Sum() int { return s.Open + s.Failed + s.Runs + s.Duties }

// Held reports whether all counts that must be 0 are 0.
func (r Result) Held() bool {
	return r.Lost.Turns+r.Lost.Memories+r.Doubled.Sum()+r.Doubled.Memories+r.Calls.PaidTwice+r.Calls.Miscounted+
		r.Reviews.Sum()+r.Stuck.Sum()+len(r.Refused) == 0
}
