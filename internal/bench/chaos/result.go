package chaos

import (
	"slices"
	"time"

	"cairn/internal/bench/audit"
)

// Result is what was done and what was counted afterwards.
type Result struct {
	Seed          uint64   `json:"seed"`
	Distillations int      `json:"distillations"`
	Kills         int      `json:"kills"`
	Exits         int      `json:"exits"` // of a worker by itself: it could not reach a server when it started
	Crashes       []Crash  `json:"crashes"`
	Refused       []string `json:"refused"` // requests that were turned down for good

	Lost     Lost        `json:"lost"`
	Doubled  Duplicates  `json:"doubled"`
	Calls    audit.Calls `json:"calls"`
	Stuck    Stuck       `json:"stuck"`
	Runs     Times       `json:"run_times"`
	Findings []string    `json:"findings"` // what is behind every count that should be 0

	Accepted time.Duration `json:"accepted_ns"` // until the last request was accepted
	Troubled time.Duration `json:"troubled_ns"` // until nothing was killed any more
	Drained  time.Duration `json:"drained_ns"`  // from there to the last run's end
	Total    time.Duration `json:"total_ns"`    // with the servers' start
}

// Lost is what was accepted and did not come to the end it should have.
type Lost struct {
	Runs       int `json:"runs"`
	Accepted   int `json:"accepted"`
	Lessons    int `json:"lessons"` // that the skill's head should hold and does not
	AllLessons int `json:"all_lessons"`
}

// Duplicates is what is there more often than it should be, or does not fit together.
type Duplicates struct {
	Skills   int `json:"skills"`
	Versions int `json:"versions"` // of one task, beyond what tasks account for, or out of order
	Packages int `json:"packages"` // objects without a row, rows without an object, other bytes than recorded
	// logged operations that differ from the versions, search that differs from the skills
	Effects int `json:"effects"`

	AllSkills   int `json:"all_skills"`
	AllVersions int `json:"all_versions"`
	AllPackages int `json:"all_packages"`
	Waiting     int `json:"waiting"` // uploads that no version came to use: collected later
	Temporary   int `json:"temporary"`
}

// Stuck is what Temporal still holds, or holds as failed.
type Stuck struct {
	Open      int `json:"open"`
	Failed    int `json:"failed"`
	Workflows int `json:"workflows"`
	Duties    int `json:"duties"` // left in the outbox
}

// Times are quantiles of the time from acceptance to end.
type Times struct {
	Median time.Duration `json:"median_ns"`
	P95    time.Duration `json:"p95_ns"`
	Most   time.Duration `json:"most_ns"`
}

func timesOf(all []time.Duration) Times {
	if len(all) == 0 {
		return Times{}
	}
	slices.Sort(all)
	return Times{Median: all[len(all)/2], P95: all[len(all)*95/100], Most: all[len(all)-1]}
}

// Sum is what the bar is 0 for.
func (l Lost) Sum() int { return l.Runs + l.Lessons }

// Sum is what the bar is 0 for.
func (d Duplicates) Sum() int { return d.Skills + d.Versions + d.Packages + d.Effects }

// Sum is what the bar is 0 for.
func (s Stuck) Sum() int { return s.Open + s.Failed + s.Duties }

// Held tells whether every promise was kept.
func (r Result) Held() bool {
	return r.Lost.Sum()+r.Doubled.Sum()+r.Calls.PaidTwice+r.Stuck.Sum()+len(r.Refused) == 0
}
