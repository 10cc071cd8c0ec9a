package loopbench

import "cairn/internal/eval/locomo"

// Options of the experiment.
type Options struct {
	Folds      int        // conversations that are tested on, each once; 8 are all
	Seeds      int        // of each fold, averaged
	K          int        // skills for a span
	Iterations int        // of training in a stage
	Episodes   int        // of an iteration, each on another training conversation
	Rounds     int        // of the designer
	Workers    int        // runs at once
	MixedOnly  bool       // leave the talks alone out
	Rows       []string   // to measure; none are all
	Limit      int        // questions of a conversation that is tested on, 0 for all
	Answers    *Answering // nil lets the offline rules answer
	Log        func(format string, args ...any)
}

func (o Options) rows() []string {
	if len(o.Rows) == 0 {
		return Rows
	}
	return o.Rows
}

// DefaultOptions are all folds with three seeds.
func DefaultOptions() Options {
	return Options{Folds: 8, Seeds: 3, K: 3, Iterations: 6, Episodes: 4, Rounds: 5, Workers: 2, Log: func(string, ...any) {}}
}

// Data is what is measured on.
type Data struct {
	Talks []locomo.Sample
	Logs  []Log // of tools, put between the talks' sessions; without them nothing is mixed
}
