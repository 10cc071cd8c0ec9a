package distillbench

import (
	"cmp"
	"io"
	"time"
)

// Options say how much is measured. A zero field means the full value.
type Options struct {
	Runs       int           // of the latency measurement, after warm-up; 25
	Call       time.Duration // that the model takes there; 200 ms
	Load       int           // distillations of the throughput measurement; 256
	AtOnce     int           // of these; 64
	QuickCall  time.Duration // that the model takes there; 5 ms
	Workspaces int           // that the load is spread over; 64, as from a gateway with 64 users
	Servers    []string      // kinds of Temporal server, InMemory and InFile; both
	Log        io.Writer     // progress for people; nil discards it
}

// Kinds of Temporal server, by where they keep their state.
const (
	InMemory = "memory"
	InFile   = "file"
)

// warmUp is how many distillations go before each measurement: connections,
// plans and caches are then as they will be. Those after the fourth still take a
// hundredth longer than those after the twelfth.
const warmUp = 12

// critical is the longest chain of model calls in a distillation of our
// conversation: chunk, rewrite, extract, file.
const critical = 4

// Goal is the latency ratio that a distillation is to stay below, by where Temporal
// keeps its state: the ratio of 2026-11-21 and a quarter more.
func Goal(server string) float64 {
	if server == InFile {
		return 1.50
	}
	return 1.44
}

func (o Options) withDefaults() Options {
	o.Runs = cmp.Or(o.Runs, 25)
	o.Call = cmp.Or(o.Call, 200*time.Millisecond)
	o.Load = cmp.Or(o.Load, 256)
	o.AtOnce = cmp.Or(o.AtOnce, 64)
	o.QuickCall = cmp.Or(o.QuickCall, 5*time.Millisecond)
	o.Workspaces = cmp.Or(o.Workspaces, 64)
	if len(o.Servers) == 0 {
		o.Servers = []string{InMemory, InFile}
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}
