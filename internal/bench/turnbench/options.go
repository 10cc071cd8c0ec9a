package turnbench

import (
	"io"
	"slices"
	"time"
)

// Options say how much is measured.
type Options struct {
	Reply  time.Duration // that the model takes; 0 answers at once
	Calls  []int         // model calls of a turn, one kind of turn each
	Loads  []Load
	Limit  time.Duration // after which everything ends, with what was measured by then, and as a failure
	Log    io.Writer     // progress for people; nil discards it
	Worker string        // the worker's program; "" builds it
}

// Load is how many conversations talk at once, and how often. When all have had
// their rounds, as many others follow: a turn of a long conversation costs more
// than one of a short one, so conversations should be of one length.
type Load struct {
	AtOnce int
	Series int // of conversations, one after another
	Rounds int // of all kinds of turns
	Turns  int // of each kind in each conversation and round
}

// Full is the whole bench. It takes two minutes on an idle machine with two
// processors, and its limit is far beyond: a machine that is shared makes every
// turn longer, and a bench that stops short proves nothing.
func Full() Options {
	return Options{Reply: 20 * time.Millisecond, Calls: []int{1, 2, 4}, Limit: 15 * time.Minute, Loads: []Load{
		{AtOnce: 1, Series: 12, Rounds: 3, Turns: 4}, {AtOnce: 16, Series: 1, Rounds: 6, Turns: 2},
		{AtOnce: 64, Series: 1, Rounds: 4, Turns: 1}}}
}

// Tiny is enough to see that it works.
func Tiny() Options {
	return Options{Calls: []int{1, 2}, Limit: 5 * time.Minute,
		Loads: []Load{{AtOnce: 1, Series: 2, Rounds: 1, Turns: 3}, {AtOnce: 4, Series: 1, Rounds: 1, Turns: 1}}}
}

// Only keeps the loads of so many conversations at once.
func (o *Options) Only(atOnce ...int) {
	o.Loads = slices.DeleteFunc(slices.Clone(o.Loads), func(l Load) bool { return !slices.Contains(atOnce, l.AtOnce) })
}

// warmUp is how many turns of the first two kinds each conversation has before
// it is measured: connections, plans and caches are then as they will be.
const warmUp = 1

// goals are the ratios of 2026-11-21 and a quarter more, by how many conversations
// talk at once and by model calls.
var goals = map[int]map[int]float64{
	1:  {1: 1.93, 2: 2.66, 4: 4.31},
	16: {1: 1.74, 2: 2.68, 4: 3.65},
	64: {1: 1.38, 2: 1.84, 4: 2.59},
}

// Goal is the ratio to a bare turn that the median overhead is to stay below. Loads
// of other sizes have none.
func Goal(atOnce, calls int) (goal float64, found bool) {
	goal, found = goals[atOnce][calls]
	return goal, found
}

// EventGoal is how many events a turn with its share of the conversation may
// have. No tool here is slow; each would be three more.
func EventGoal(calls int) int { return 19 + 6*calls }
