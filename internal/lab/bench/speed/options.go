package speed

import (
	"io"
	"time"
)

// AddOptions sets the size of the measurement.
type AddOptions struct {
	Models  []time.Duration // response times of the model
	Callers []int           // numbers of callers at once
	Adds    int             // of each cell, at least one for each caller
	Limit   time.Duration   // time limit of everything
	Log     io.Writer       // progress messages; nil discards them
	Worker  string          // path of the worker binary; "" builds it
	Cairn   string          // path of the cairn binary, which is the gateway; "" builds it
}

// AddFull returns the options of the full benchmark.
func AddFull() AddOptions {
	return AddOptions{Models: []time.Duration{0, 20 * time.Millisecond, 200 * time.Millisecond}, Callers: []int{1, 16,
		64},
		Adds: 200, Limit: 20 * time.Minute}
}

// warmUp is the number of adds before the measurement. They fill connections, plans and caches.
const warmUp = 20

// Goals of an add. The processor time and its ratio are those of one caller without a model's delay.
const (
	GoalLatency  = 1.35                  // p50 at 200 ms and one caller, as a multiple of the model's latency
	GoalCPU      = 80 * time.Millisecond // processor time of all processes
	GoalRatio    = 3.0                   // processor time ÷ that of a bare workflow
	GoalRate     = 20.0                  // adds per second, 16 callers, 20 ms
	GoalSlowest  = 10 * time.Second      // p99 with 64 callers
	GoalBytes    = 12_000                // in Postgres per add
	slowModel    = 200 * time.Millisecond
	usualModel   = 20 * time.Millisecond
	usualCallers = 16
)
