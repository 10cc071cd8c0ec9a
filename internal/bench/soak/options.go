package soak

import (
	"cmp"
	"io"
	"time"
)

// Options say how much is talked and how badly it is treated. A zero field means
// the full experiment's value.
type Options struct {
	Conversations int           // 100
	Turns         int           // of each; 20
	AtOnce        int           // turns under way at once, at most; as many as conversations
	Reply         time.Duration // that the model takes; 20 ms
	KillEvery     time.Duration // the worker, by SIGKILL; 10 s
	Kills         int           // at most; 60, or fewer when all is answered
	Step          time.Duration // one model response of a turn, from start to close; 5 s
	Patience      time.Duration // for an answer, and for the end once nothing is killed any more; 2 min
	Goal          time.Duration // all in all, the servers' start included; 5 min
	Seed          uint64        // of everything that is drawn; 0 draws it from the clock
	Log           io.Writer     // progress for people; nil discards it
	Worker        string        // the worker's program; "" builds it
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
	o.Goal = cmp.Or(o.Goal, 5*time.Minute)
	o.Seed = cmp.Or(o.Seed, uint64(time.Now().UnixNano()))
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}
