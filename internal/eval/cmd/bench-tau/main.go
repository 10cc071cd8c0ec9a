// Command bench-tau distils all of τ-bench's airline trajectories with the
// offline rules and prints what came out.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"cairn/internal/eval/command"
	"cairn/internal/eval/samples"
	"cairn/internal/eval/taubench"
	"cairn/internal/transcript"
)

func main() { command.Run("bench-tau", run) }

func run(ctx context.Context) error {
	file := flag.String("file", samples.Public("tau/airline-train.json"), "trajectories of τ-bench")
	atOnce := flag.Int("at-once", 4, "distillations at once")
	output := flag.String("o", "text", "text or json")
	flag.Parse()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	if *file == "" {
		return errors.New("the trajectories are not here: get historical_trajectories/gpt-4o-airline.json of sierra-research/tau-bench, and name it with --file or set CAIRN_DATA")
	}
	in, err := os.Open(*file)
	if err != nil {
		return err
	}
	defer in.Close()
	conversations, err := transcript.Parse("airline", in, transcript.MaxInput)
	if err != nil {
		return err
	}
	lab, done, err := taubench.OpenLab(ctx, os.Stderr)
	if err != nil {
		return err
	}
	defer done()
	r, err := lab.Distil(ctx, conversations, *atOnce)
	if err != nil {
		return err
	}
	shown := command.Print(*output, r, func(w io.Writer) error {
		r.Print(w, *atOnce)
		return nil
	})
	return errors.Join(shown, command.Held(len(r.Errors)+len(r.Leaks) == 0)) // a leak is something of a customer's in a skill
}
