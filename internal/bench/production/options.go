package production

import (
	"cmp"
	"io"
	"time"
)

// Options sets the size of the experiment. Zero fields have the values of the full experiment, given
// after the semicolon.
type Options struct {
	Steps      []int         // numbers of the steps of Steps(); all
	Workspaces int           // in step 1; 20
	Turns      int           // in step 1; 200
	Away       time.Duration // time without Temporal in step 3; 60 s
	ReadOnly   time.Duration // time in which Postgres is read-only in step 4; 10 s
	Detect     time.Duration // time from the crash of Postgres to the promotion in step 4; 3 s
	Lost       int           // turns after the backup in step 5; 30
	Load       time.Duration // load before and after each fault in steps 4 and 7; 10 s
	Drain      time.Duration // CAIRN_DRAIN_DELAY; 3 s
	GoTests    bool          // also run the tests of edges in step 9, with the go command
	Patience   time.Duration // time limit of a reply; 2 min
	Limit      time.Duration // time limit of the experiment; 25 min
	Log        io.Writer     // progress messages; nil discards them
	Worker     string        // path of the worker binary; "" builds it
	Cairn      string        // path of the cairn binary; "" builds it
}

func (o Options) withDefaults() Options {
	o.Workspaces = cmp.Or(o.Workspaces, 20)
	o.Turns = cmp.Or(o.Turns, 200)
	o.Away = cmp.Or(o.Away, time.Minute)
	o.ReadOnly = cmp.Or(o.ReadOnly, 10*time.Second)
	o.Detect = cmp.Or(o.Detect, 3*time.Second)
	o.Lost = cmp.Or(o.Lost, 30)
	o.Load = cmp.Or(o.Load, 10*time.Second)
	o.Drain = cmp.Or(o.Drain, 3*time.Second)
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.Limit = cmp.Or(o.Limit, 25*time.Minute)
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// Small returns the options of a run of about two minutes.
func Small() Options {
	return Options{Workspaces: 4, Turns: 12, Away: 4 * time.Second, ReadOnly: 2 * time.Second, Detect: time.Second,
		Lost: 6, Load: 2 * time.Second, Drain: time.Second, Patience: time.Minute, Limit: 15 * time.Minute}
}
