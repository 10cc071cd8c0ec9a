package chaos

import (
	"slices"
	"time"

	"cairn/internal/lab/bench/audit"
)

// Result holds the counts of the experiment.
type Result struct {
	Seed          uint64   `json:"seed"`
	Distillations int      `json:"distillations"`
	Kills         int      `json:"kills"`
	Exits         int      `json:"exits"` // worker exits without a kill, when a server was down at its start
	Crashes       []Crash  `json:"crashes"`
	Refused       []string `json:"refused"` // requests that were permanently rejected

	Lost     Lost        `json:"lost"`
	Doubled  Duplicates  `json:"doubled"`
	Calls    audit.Calls `json:"calls"`
	Stuck    Stuck       `json:"stuck"`
	Runs     Times       `json:"run_times"`
	Findings []string    `json:"findings"` // details of each count that should be 0

	Accepted time.Duration `json:"accepted_ns"` // time until the last request was accepted
	Troubled time.Duration `json:"troubled_ns"` // time until the last fault
	Drained  time.Duration `json:"drained_ns"`  // time from there to the end of the last run
	Total    time.Duration `json:"total_ns"`    // total time, including the start of the servers
}

// Lost counts accepted work without its expected result.
type Lost struct {
	Runs       int `json:"runs"`
	Accepted   int `json:"accepted"`
	Lessons    int `json:"lessons"` // lessons missing in the head of their skill
	AllLessons int `json:"all_lessons"`
}

// Duplicates counts duplicated and inconsistent objects.
type Duplicates struct {
	Skills   int `json:"skills"`
	Versions int `json:"versions"` // extra versions of one task, or versions out of order
	Packages int `json:"packages"` // objects without a row, rows without an object, or different bytes
	// logged operations that differ from the versions, and search entries that differ from the skills
	Effects int `json:"effects"`

	AllSkills   int `json:"all_skills"`
	AllVersions int `json:"all_versions"`
	AllPackages int `json:"all_packages"`
	Waiting     int `json:"waiting"` // uploads without a version, which are collected later
	Temporary   int `json:"temporary"`
}

// Stuck counts open and failed work in Temporal and the outbox.
type Stuck struct {
	Open      int `json:"open"`
	Failed    int `json:"failed"`
	Workflows int `json:"workflows"`
	Duties    int `json:"duties"` // outbox tasks left
}

// Times holds quantiles of the time from acceptance to the end of a run.
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

// Sum is the number that must be 0.
func (l Lost) Sum() int { return l.Runs + l.Lessons }

// Sum is the number that must be 0.
func (d Duplicates) Sum() int { return d.Skills + d.Versions + d.Packages + d.Effects }

// Sum is the number that must be 0.
func (s Stuck) Sum() int { return s.Open + s.Failed + s.Duties }

// Held reports whether all counts that must be 0 are 0.
func (r Result) Held() bool {
	return r.Lost.Sum()+r.Doubled.Sum()+r.Calls.PaidTwice+r.Calls.Miscounted+r.Stuck.Sum()+len(r.Refused) == 0
}
