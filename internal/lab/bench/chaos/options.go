package chaos

import (
	"cmp"
	"io"
	"time"
)

// Options sets the size of the experiment and the number of faults. Zero fields have the
// values of the full experiment, given after the semicolon.
type Options struct {
	Distillations int           // number of requests; 200
	Skills        int           // distinct skills that they teach, at most 40; 40
	Clients       int           // parallel clients; 8
	Spread        time.Duration // time over which requests arrive; 40 s
	Reply         time.Duration // response time of the model; 20 ms
	KillEvery     time.Duration // interval between worker kills (SIGKILL); 3 s
	Kills         int           // maximum kills, which stop when 95 % of the runs have ended; 60
	Patience      time.Duration // time for runs to end after the last kill; 4 min
	Seed          uint64        // random seed; 0 means a seed from the clock
	Log           io.Writer     // progress messages; nil discards them
	Worker        string        // path of the worker binary; "" builds it

	// DatabaseStep is the time limit of a database step whose worker was killed; 0 means
	// the default of the worker.
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

// Every n-th request is special.
const (
	twiceEvery     = 10 // sent by two clients at the same time
	undrivenEvery  = 5  // only accepted; the relay starts it
	secondTaskOf   = 4  // teaches two skills
	smallTalkEvery = 25 // teaches nothing
	briefEvery     = 40 // too short for the gate
)
