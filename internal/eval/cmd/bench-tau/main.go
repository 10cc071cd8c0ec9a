// Command bench-tau distils all of τ-bench's airline trajectories with the
// offline rules and prints what came out.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"cairn/internal/eval/samples"
	"cairn/internal/eval/taubench"
	"cairn/internal/transcript"
)

func main() {
	file := flag.String("file", samples.Public("tau/airline-train.json"), "trajectories of τ-bench")
	atOnce := flag.Int("at-once", 4, "distillations at once")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	ok, err := run(ctx, *file, *atOnce, *output)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-tau:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run returns whether nothing failed and nothing of a customer got into a skill.
func run(ctx context.Context, file string, atOnce int, output string) (bool, error) {
	if file == "" {
		return false, fmt.Errorf("the trajectories are not here: get historical_trajectories/gpt-4o-airline.json of sierra-research/tau-bench, and name it with --file or set CAIRN_DATA")
	}
	in, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer in.Close()
	conversations, err := transcript.Parse("airline", in, transcript.MaxInput)
	if err != nil {
		return false, err
	}
	lab, done, err := taubench.OpenLab(ctx, os.Stderr)
	if err != nil {
		return false, err
	}
	defer done()
	r, err := lab.Distil(ctx, conversations, atOnce)
	if err != nil {
		return false, err
	}
	if output == "json" {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return len(r.Errors)+len(r.Leaks) == 0, enc.Encode(r)
	}
	r.Print(os.Stdout, atOnce)
	return len(r.Errors)+len(r.Leaks) == 0, nil
}
