package world

import (
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/evaluation"
)

// Options of the experiment.
type Options struct {
	Folds      int      // number of test conversations; 8 means all
	Seeds      int      // per fold, averaged
	K          int      // skills per span
	Iterations int      // training iterations per stage
	Episodes   int      // per iteration, each on another training conversation
	Rounds     int      // designer rounds
	Workers    int      // concurrent runs
	MixedOnly  bool     // measure mixed traces only
	Rows       []string // rows to measure; empty means all
	Limit      int      // questions per test conversation; 0 means all
	// Spans configures how sessions are split. The zero value means the production default.
	Spans executor.Spanning
	// Fuse is how the policy fuses the memories near a span: mean or sim_weighted. Empty means
	// mean. Temperature is τ of sim_weighted; 0 means the default.
	Fuse        string
	Temperature float64
	// SessionWorkers is the number of concurrent spans of a test conversation, at least 1.
	// Concurrent spans see the memories before the first of them, which reduces quality.
	SessionWorkers int
	Answers        *Answering
	Log            func(format string, args ...any)
}

func (o Options) rows() []string {
	if len(o.Rows) == 0 {
		return Rows
	}
	return o.Rows
}

// Check returns an error if the options are invalid.
func (o Options) Check() error {
	if o.SessionWorkers < 1 || o.SessionWorkers > maxSessionWorkers {
		return fault.Newf(
			fault.InvalidArgument,
			"invalid number of concurrent spans %d: must be 1 to %d",
			o.SessionWorkers,
			maxSessionWorkers,
		)
	}
	if _, err := o.shape(policy.TowerShape(1, 1)); err != nil {
		return err
	}
	return o.spanning().Check()
}

const maxSessionWorkers = 1000

// spanning returns how sessions are split.
func (o Options) spanning() executor.Spanning {
	if o.Spans == (executor.Spanning{}) {
		return executor.DefaultSpans()
	}
	return o.Spans
}

// shape applies the fuse options to the shape of a policy.
func (o Options) shape(of policy.Shape) (policy.Shape, error) {
	return of.Fused(o.Fuse, o.Temperature)
}

// trace returns an empty trace with the options applied.
func (o Options) trace(id string) (*trace, error) {
	shape, err := o.shape(policy.TowerShape(dims, 1))
	return &trace{id: id, how: o.spanning(), shape: shape}, err
}

// DefaultOptions returns options with all folds and three seeds.
func DefaultOptions() Options {
	return Options{Folds: 8, Seeds: 3, K: 3, Iterations: 6, Episodes: 4, Rounds: 5, Workers: 2, SessionWorkers: 1,
		Log: func(string, ...any) {}}
}

// Data is the input of a measurement.
type Data struct {
	Talks []evaluation.LocomoSample
	Logs  []Log // tool logs, inserted between sessions; empty disables mixed traces
}
