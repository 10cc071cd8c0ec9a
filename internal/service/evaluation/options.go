package evaluation

import (
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/evaluation/locomo"
)

// Options of the experiment.
type Options struct {
	Folds      int      // conversations that are tested on, each once; 8 are all
	Seeds      int      // of each fold, averaged
	K          int      // skills for a span
	Iterations int      // of training in a stage
	Episodes   int      // of an iteration, each on another training conversation
	Rounds     int      // of the designer
	Workers    int      // runs at once
	MixedOnly  bool     // leave the talks alone out
	Rows       []string // to measure; none are all
	Limit      int      // questions of a conversation that is tested on, 0 for all
	// Spans is how sessions are cut; of the zero value the program's default.
	Spans executor.Spanning
	// Fuse is how the policy fuses the memories near a span, mean or sim_weighted;
	// empty is mean. Temperature is τ of sim_weighted, 0 the default.
	Fuse        string
	Temperature float64
	// SessionWorkers are spans of a tested conversation at once, at least 1: they see
	// the memory as it was before the first of them, which costs quality.
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

// Check refuses options that nothing can be measured with.
func (o Options) Check() error {
	if o.SessionWorkers < 1 || o.SessionWorkers > maxSessionWorkers {
		return fault.Newf(fault.InvalidArgument, "%d spans of a conversation at once; it is 1 to %d", o.SessionWorkers,
			maxSessionWorkers)
	}
	if _, err := o.shape(policy.Shape{Head: policy.Concat, Dim: 1, Hidden: 1}); err != nil {
		return err
	}
	return o.spanning().Check()
}

const maxSessionWorkers = 1000

// spanning is how sessions are cut.
func (o Options) spanning() executor.Spanning {
	if o.Spans == (executor.Spanning{}) {
		return executor.DefaultSpans()
	}
	return o.Spans
}

// shape is a policy's with what the options say of fusing.
func (o Options) shape(of policy.Shape) (policy.Shape, error) {
	return of.Fused(o.Fuse, o.Temperature)
}

// trace begins one that is read as the options say.
func (o Options) trace(id string) (*trace, error) {
	shape, err := o.shape(policy.ConcatShape(dims, 1))
	return &trace{id: id, how: o.spanning(), shape: shape}, err
}

// DefaultOptions are all folds with three seeds.
func DefaultOptions() Options {
	return Options{Folds: 8, Seeds: 3, K: 3, Iterations: 6, Episodes: 4, Rounds: 5, Workers: 2, SessionWorkers: 1,
		Log: func(string, ...any) {}}
}

// Data is what is measured on.
type Data struct {
	Talks []locomo.Sample
	Logs  []Log // of tools, put between the talks' sessions; without them nothing is mixed
}
