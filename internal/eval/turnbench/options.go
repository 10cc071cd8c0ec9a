package turnbench

import (
	"io"
	"time"
)

// Options say how much is measured.
type Options struct {
	Reply  time.Duration // that the model takes; 0 answers at once
	Calls  []int         // model calls of a turn, one kind of turn each
	Loads  []Load
	Budget time.Duration // for the measurements together: rounds end early when it is spent
	Limit  time.Duration // after which everything ends, with what was measured by then
	Log    io.Writer     // progress for people; nil discards it
	Worker string        // the worker's program; "" builds it
}

// Load is how many conversations talk at once, and how often.
type Load struct {
	AtOnce int
	Rounds int // of all kinds of turns, at most
	Turns  int // of each kind in each conversation and round
	Share  float64
}

// Full is the whole bench; it takes less than three minutes.
func Full() Options {
	return Options{Reply: 20 * time.Millisecond, Calls: []int{1, 2, 4}, Budget: 100 * time.Second, Limit: 165 * time.Second, Loads: []Load{
		{AtOnce: 1, Rounds: 12, Turns: 4, Share: 0.25}, {AtOnce: 16, Rounds: 8, Turns: 2, Share: 0.3}, {AtOnce: 64, Rounds: 6, Turns: 1, Share: 0.45}}}
}

// Tiny is enough to see that it works.
func Tiny() Options {
	return Options{Calls: []int{1, 2}, Budget: 10 * time.Second, Limit: time.Minute, Loads: []Load{{AtOnce: 1, Rounds: 1, Turns: 3, Share: 0.5}, {AtOnce: 4, Rounds: 1, Turns: 1, Share: 0.5}}}
}

// warmUp is how many turns of the first two kinds each conversation has before
// it is measured: connections, plans and caches are then as they will be.
const warmUp = 1

// Goal is the ratio to a bare turn that the median overhead is to stay below.
func Goal(atOnce, calls int) float64 {
	if atOnce == 1 {
		return 1.3 + 0.6*float64(calls)
	}
	return 1.5 + 0.75*float64(calls)
}

// EventGoal is how many events a turn with its share of the conversation may
// have. No tool here is slow; each would be three more.
func EventGoal(calls int) int { return 19 + 6*calls }
