package production

import (
	"cmp"
	"io"
	"time"
)

// Options sets the size of the experiment. Zero fields have the values of the full experiment, or of the
// small one.
type Options struct {
	Small      bool          // values of a small experiment
	Steps      []int         // numbers of the steps of Steps(); nil means all
	Workspaces int           // in step 1
	Turns      int           // in step 1
	Away       time.Duration // time without Temporal in step 3
	ReadOnly   time.Duration // time in which Postgres is read-only in step 4
	Detect     time.Duration // time from the crash of Postgres to the promotion in step 4
	Lost       int           // turns after the backup in step 5
	Load       time.Duration // load before and after each fault in steps 4 and 7
	Drain      time.Duration // CAIRN_DRAIN_DELAY
	GoTests    bool          // also run the tests of edges in step 9, with the go command
	Patience   time.Duration // time limit of a reply
	Limit      time.Duration // time limit of the experiment
	Log        io.Writer     // progress messages; nil discards them
	Worker     string        // path of the worker binary; "" builds it
	Cairn      string        // path of the cairn binary; "" builds it
}

var (
	full = Options{Workspaces: 20, Turns: 200, Away: time.Minute, ReadOnly: 10 * time.Second, Detect: 3 * time.Second,
		Lost: 30, Load: 10 * time.Second, Drain: 3 * time.Second, Patience: 2 * time.Minute, Limit: 25 * time.Minute}
	small = Options{Workspaces: 4, Turns: 12, Away: 4 * time.Second, ReadOnly: 3 * time.Second, Detect: time.Second,
		Lost: 6, Load: 2 * time.Second, Drain: time.Second, Patience: time.Minute, Limit: 15 * time.Minute}
)

func (o Options) withDefaults() Options {
	d := full
	if o.Small {
		d = small
	}
	o.Workspaces = cmp.Or(o.Workspaces, d.Workspaces)
	o.Turns = cmp.Or(o.Turns, d.Turns)
	o.Away = cmp.Or(o.Away, d.Away)
	o.ReadOnly = cmp.Or(o.ReadOnly, d.ReadOnly)
	o.Detect = cmp.Or(o.Detect, d.Detect)
	o.Lost = cmp.Or(o.Lost, d.Lost)
	o.Load = cmp.Or(o.Load, d.Load)
	o.Drain = cmp.Or(o.Drain, d.Drain)
	o.Patience = cmp.Or(o.Patience, d.Patience)
	o.Limit = cmp.Or(o.Limit, d.Limit)
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}
