package soak

import (
	"cmp"
	"io"
	"time"
)

// Options sets the size of the experiment and the number of faults. Zero fields have the
// values of the full experiment, given after the semicolon.
type Options struct {
	Conversations int           // number of conversations; 100
	Turns         int           // turns per conversation; 20
	AtOnce        int           // maximum parallel turns; the number of conversations
	Reply         time.Duration // response time of the model; 20 ms
	KillEvery     time.Duration // interval between worker kills (SIGKILL); 10 s
	Kills         int           // maximum kills, which stop after the last reply; 60
	Step          time.Duration // time limit of one model response of a turn; 5 s
	Patience      time.Duration // time limit of a reply, and of the end after the last kill; 2 min
	Restore       bool          // restore the database in the middle from an older dump
	Seed          uint64        // random seed; 0 means a seed from the clock
	Log           io.Writer     // progress messages; nil discards them
	Worker        string        // path of the worker binary; "" builds it
}

func (o Options) withDefaults() Options {
	o.Conversations = cmp.Or(o.Conversations, 100)
	o.Turns = cmp.Or(o.Turns, 20)
	o.AtOnce = cmp.Or(o.AtOnce, o.Conversations)
	o.Reply = cmp.Or(o.Reply, 20*time.Millisecond)
	o.KillEvery = cmp.Or(o.KillEvery, 10*time.Second)
	o.Kills = cmp.Or(o.Kills, 60)
	o.Step = cmp.Or(o.Step, 5*time.Second)
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.Seed = cmp.Or(o.Seed, uint64(time.Now().UnixNano()))
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}
