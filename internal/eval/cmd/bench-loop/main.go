// Command bench-loop measures the closed loop of memory skills: does a bank that
// evolved, with a choice that was learnt, remember better than fixed skills?
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"cairn/internal/eval/command"
	"cairn/internal/eval/locomo"
	"cairn/internal/eval/loopbench"
	"cairn/internal/eval/samples"
	"cairn/internal/transcript"
)

func main() { command.Run("bench-loop", run) }

func run(ctx context.Context) error {
	o := loopbench.DefaultOptions()
	talks := flag.String("talks", samples.Public("locomo/locomo8.json"), "a file of snap-research/locomo's format")
	logs := flag.String("logs", samples.Public("tau/airline-train.json"), "trajectories of τ-bench; empty leaves mixed traces out")
	flag.IntVar(&o.Folds, "folds", o.Folds, "conversations to test on")
	flag.IntVar(&o.Seeds, "seeds", o.Seeds, "runs of each fold, averaged")
	flag.IntVar(&o.K, "k", o.K, "skills for a span")
	flag.IntVar(&o.Iterations, "iterations", o.Iterations, "iterations of training in a stage")
	flag.IntVar(&o.Episodes, "episodes", o.Episodes, "episodes of an iteration")
	flag.IntVar(&o.Rounds, "rounds", o.Rounds, "rounds of the designer at most")
	flag.IntVar(&o.Workers, "workers", o.Workers, "runs at once")
	flag.BoolVar(&o.MixedOnly, "mixed-only", false, "leave the talks alone out")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	o.Log = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	if *talks == "" {
		return fmt.Errorf("the conversations are not here: get locomo10.json of snap-research/locomo, and name it with --talks or set CAIRN_DATA")
	}
	var d loopbench.Data
	var err error
	if d.Talks, err = locomo.Open(*talks); err != nil {
		return err
	}
	if *logs != "" {
		in, err := os.Open(*logs)
		if err != nil {
			return err
		}
		defer in.Close()
		conversations, err := transcript.Parse("airline", in, transcript.MaxInput)
		if err != nil {
			return err
		}
		d.Logs = loopbench.LogsOf(conversations)
	}
	started := time.Now()
	debug.SetGCPercent(300) // episodes make and drop many small things
	tables, err := loopbench.MeasureAll(ctx, d, o)
	if err != nil {
		return err
	}
	lines, ok := loopbench.Verdict(tables), true
	for _, l := range lines {
		ok = ok && l.OK
	}
	took := time.Since(started).Seconds()
	shown := command.Print(*output, map[string]any{"tables": tables, "lines": lines, "seconds": took}, func(w io.Writer) error {
		loopbench.Print(w, tables, lines)
		_, err := fmt.Fprintf(w, "\n%.0f s\n", took)
		return err
	})
	return errors.Join(shown, command.Held(ok))
}
