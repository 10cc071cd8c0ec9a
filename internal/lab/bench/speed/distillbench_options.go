package speed

import (
	"cmp"
	"io"
	"time"
)

// DistillOptions sets the size of the measurement. Zero fields have the values after the semicolon.
type DistillOptions struct {
	Runs       int           // distillations of the latency measurement, after warm-up; 25
	Call       time.Duration // response time of the model there; 200 ms
	Load       int           // distillations of the throughput measurement; 256
	AtOnce     int           // parallel distillations of these; 64
	QuickCall  time.Duration // response time of the model there; 5 ms
	Workspaces int           // workspaces of the load, as of a gateway with 64 users; 64
	Servers    []string      // kinds of Temporal server, InMemory and InFile; both
	Log        io.Writer     // progress messages; nil discards them
}

// Kinds of Temporal server, by the place of their state.
const (
	InMemory = "memory"
	InFile   = "file"
)

// distillWarmUp is the number of distillations before each measurement. They fill connections, plans
// and caches. Distillations after the fourth still take 1 % longer than those after the
// twelfth.
const distillWarmUp = 12

// critical is the number of model calls in the longest chain of a distillation: segment,
// extract, files.
const critical = 3

// Goal is the maximum latency ratio for a kind of Temporal server: 1.25 times the ratio of
// 2026-11-21.
func Goal(server string) float64 {
	if server == InFile {
		return 1.50
	}
	return 1.44
}

func (o DistillOptions) withDefaults() DistillOptions {
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
