// Command bench-loop measures the closed loop of memory skills: does a bank that
// evolved, with a choice that was learnt, remember better than fixed skills?
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"cairn/internal/eval/locomo"
	"cairn/internal/eval/loopbench"
	"cairn/internal/eval/samples"
	"cairn/internal/transcript"
)

func main() {
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o.Log = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	ok, err := run(ctx, *talks, *logs, o, *output)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-loop:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run returns whether everything showed that must.
func run(ctx context.Context, talks, logs string, o loopbench.Options, output string) (bool, error) {
	if talks == "" {
		return false, fmt.Errorf("the conversations are not here: get locomo10.json of snap-research/locomo, and name it with --talks or set CAIRN_DATA")
	}
	var d loopbench.Data
	var err error
	if d.Talks, err = locomo.Open(talks); err != nil {
		return false, err
	}
	if logs != "" {
		in, err := os.Open(logs)
		if err != nil {
			return false, err
		}
		defer in.Close()
		conversations, err := transcript.Parse("airline", in, transcript.MaxInput)
		if err != nil {
			return false, err
		}
		d.Logs = loopbench.LogsOf(conversations)
	}
	started := time.Now()
	debug.SetGCPercent(300) // episodes make and drop many small things
	tables, err := loopbench.MeasureAll(ctx, d, o)
	if err != nil {
		return false, err
	}
	lines, ok := loopbench.Verdict(tables), true
	for _, l := range lines {
		ok = ok && l.OK
	}
	if output == "json" {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return ok, enc.Encode(map[string]any{"tables": tables, "lines": lines, "seconds": time.Since(started).Seconds()})
	}
	loopbench.Print(os.Stdout, tables, lines)
	fmt.Printf("\n%.0f s\n", time.Since(started).Seconds())
	return ok, nil
}
