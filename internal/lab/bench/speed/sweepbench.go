package speed

import (
	"io"
	"time"
)

// SweepOptions sets the size of the measurement.
type SweepOptions struct {
	Workspaces int // number of due workspaces
	Talking    int // every n-th workspace has conversations
	Kills      int // kills of the worker in the second sweep
	Limit      time.Duration
	Log        io.Writer // progress messages
}

// SweepFull returns the options of the full benchmark.
func SweepFull() SweepOptions {
	return SweepOptions{Workspaces: 100_000, Talking: 50, Kills: 2, Limit: 15 * time.Minute, Log: io.Discard}
}

// Tiny returns options that suffice to find lost reflections. Its rates are not reliable.
func Tiny() SweepOptions {
	return SweepOptions{Workspaces: 120, Talking: 10, Kills: 1, Limit: 90 * time.Second, Log: io.Discard}
}

// Goals of the full benchmark.
const (
	GoalStarts = 0.8 // ratio of the sweep's start rate to that of bare starts
	GoalMemory = 0.2 // memory growth between the first and the last tenth of a sweep
)

// SweepResult holds the measurements.
type SweepResult struct {
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
	Wrong      int     `json:"wrong_rows"` // tasks or empty days in a wrong state
}

// Seconds is a duration in seconds that prints as a number.
type Seconds float64
