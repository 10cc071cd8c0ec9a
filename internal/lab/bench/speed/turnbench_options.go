package speed

import (
	"io"
	"slices"
	"time"
)

// Options sets the size of the measurement.
type Options struct {
	Reply  time.Duration // response time of the model
	Calls  []int         // kinds of turns by their number of model calls
	Loads  []Load
	Limit  time.Duration // time limit, after which Run fails with the results so far
	Log    io.Writer     // progress messages; nil discards them
	Worker string        // path of the worker binary; "" builds it
}

// Load is a number of parallel conversations and their rounds. Each series uses new
// conversations, because a turn of a long conversation costs more than one of a short
// conversation.
type Load struct {
	AtOnce int
	Series int // number of sequential series of conversations
	Rounds int // rounds of all kinds of turns
	Turns  int // turns per kind, conversation and round
}

// Full returns the options of the full benchmark. It takes two minutes on an idle machine with
// two CPUs. Its limit is much higher, because turns take longer on a shared machine.
func Full() Options {
	return Options{Reply: 20 * time.Millisecond, Calls: []int{1, 2, 4}, Limit: 15 * time.Minute, Loads: []Load{
		{AtOnce: 1, Series: 12, Rounds: 3, Turns: 4}, {AtOnce: 16, Series: 1, Rounds: 6, Turns: 2},
		{AtOnce: 64, Series: 1, Rounds: 4, Turns: 1}}}
}

// TurnTiny returns the options of a minimal benchmark.
func TurnTiny() Options {
	return Options{Calls: []int{1, 2}, Limit: 5 * time.Minute,
		Loads: []Load{{AtOnce: 1, Series: 2, Rounds: 1, Turns: 3}, {AtOnce: 4, Series: 1, Rounds: 1, Turns: 1}}}
}

// Only keeps the loads with the given numbers of conversations.
func (o *Options) Only(atOnce ...int) {
	o.Loads = slices.DeleteFunc(slices.Clone(o.Loads), func(l Load) bool { return !slices.Contains(atOnce, l.AtOnce) })
}

// turnWarmUp is the number of turns of the first two kinds in each conversation before the
// measurement. They fill connections, plans and caches.
const turnWarmUp = 1

// goals holds 1.25 times the ratios of 2026-11-21, by the number of parallel conversations and
// of model calls.
var goals = map[int]map[int]float64{
	1:  {1: 1.93, 2: 2.66, 4: 4.31},
	16: {1: 1.74, 2: 2.68, 4: 3.65},
	64: {1: 1.38, 2: 1.84, 4: 2.59},
}

// TurnGoal is the maximum ratio of the median overhead to a bare turn. Found is false for loads
// without a goal.
func TurnGoal(atOnce, calls int) (goal float64, found bool) {
	goal, found = goals[atOnce][calls]
	return goal, found
}

// EventGoal is the maximum number of events of a turn, including its share of the conversation.
// It assumes fast tools; each slow tool adds three events.
func EventGoal(calls int) int { return 19 + 6*calls }
