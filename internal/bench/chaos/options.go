package chaos

import (
	"cmp"
	"io"
	"time"
)

// Options say how much is done and how badly it is treated. A zero field means
// the full experiment's value.
type Options struct {
	Distillations int           // requests; 200
	Skills        int           // distinct skills that they teach; 40, which is the most
	Clients       int           // that send requests at once; 8
	Spread        time.Duration // over which the requests come in; 40 s
	Reply         time.Duration // that the model takes; 20 ms
	KillEvery     time.Duration // the worker, by SIGKILL; 3 s
	Kills         int           // at most; 60, or fewer when 95 % of the runs have ended
	Patience      time.Duration // for runs to end once nothing is killed any more; 4 min
	Seed          uint64        // of everything that is drawn; 0 draws it from the clock
	Log           io.Writer     // progress for people; nil discards it
	Worker        string        // the worker's program; "" builds it

	// DatabaseStep is when a database step is given up whose worker was killed;
	// 0 is the product's own.
	DatabaseStep time.Duration
}

func (o Options) withDefaults() Options {
	o.Distillations = cmp.Or(o.Distillations, 200)
	o.Skills = min(cmp.Or(o.Skills, 40), len(themes))
	o.Clients = cmp.Or(o.Clients, 8)
	o.Spread = cmp.Or(o.Spread, 40*time.Second)
	o.Reply = cmp.Or(o.Reply, 20*time.Millisecond)
	o.KillEvery = cmp.Or(o.KillEvery, 3*time.Second)
	o.Kills = cmp.Or(o.Kills, 60)
	o.Patience = cmp.Or(o.Patience, 4*time.Minute)
	o.Seed = cmp.Or(o.Seed, uint64(time.Now().UnixNano()))
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// Some requests are special, by their number.
const (
	twiceEvery     = 10 // sent by two clients at once
	undrivenEvery  = 5  // accepted and left to the relay
	secondTaskOf   = 4  // teaches two skills
	smallTalkEvery = 25 // teaches nothing
	briefEvery     = 40 // too short for the gate
)
