// Package sweepbench measures the sweep: so many workspaces whose daily
// reflection is due at once, of which few have conversations.
//
// It has servers of its own, and a worker in a process of its own that hosts the
// real Sweep and a Reflection which does nothing. It sweeps once undisturbed, for
// the rates and the worker's memory, with bare starts of the same workflow before
// and after; then again, for another date, while the worker is killed. Then it
// counts what was missed and what was doubled.
package sweepbench

import (
	"io"
	"time"
)

// Options say how much is measured.
type Options struct {
	Workspaces int // that are due at once
	Talking    int // every so manieth has conversations
	Kills      int // of the worker, in the second sweep
	Limit      time.Duration
	Log        io.Writer // progress for people
}

// Full is the whole bench.
func Full() Options {
	return Options{Workspaces: 100_000, Talking: 50, Kills: 2, Limit: 15 * time.Minute, Log: io.Discard}
}

// Tiny is enough to see that nothing is lost; its rates say little.
func Tiny() Options {
	return Options{Workspaces: 120, Talking: 10, Kills: 1, Limit: 90 * time.Second, Log: io.Discard}
}

// Goals of the full bench.
const (
	GoalStarts = 0.8 // starts a second while the sweep starts, beside bare starts
	GoalMemory = 0.2 // between the first and the last tenth of a sweep
)

// Result is what was measured.
type Result struct {
	Workspaces int     `json:"workspaces"`
	Talking    int     `json:"with_conversations"`
	Sweep      Seconds `json:"sweep_seconds"`
	PerSecond  float64 `json:"workspaces_per_second"`
	Starts     float64 `json:"starts_per_second_while_starting"`
	Overall    float64 `json:"starts_per_second_of_the_whole_sweep"`
	Bare       float64 `json:"bare_starts_per_second"`
	Ratio      float64 `json:"starts_beside_bare"`
	First      int64   `json:"worker_bytes_first_tenth"`
	Last       int64   `json:"worker_bytes_last_tenth"`
	Growth     float64 `json:"worker_growth"`
	Kills      int     `json:"kills"`
	Disturbed  Seconds `json:"disturbed_sweep_seconds"`
	Missed     int     `json:"missed"`
	Doubled    int     `json:"doubled"`
	Wrong      int     `json:"wrong_rows"` // tasks or empty days that are not as they must be
}

// Seconds prints as a number.
type Seconds float64
