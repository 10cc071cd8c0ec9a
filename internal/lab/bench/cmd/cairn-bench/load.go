package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/lab/bench/speed"
	"cairn/internal/lab/tempcairn"
)

// loadGoal is the minimum number of memories per second that are loaded from a dump, and saved over HTTP in batches
// of 500.
const loadGoal = 1000

func (p *program) load() *cobra.Command {
	var memories int
	var seed uint64
	cmd := p.benchmark(&cobra.Command{
		Use: "load", Short: "Measure how fast memories are saved in batches and loaded from a dump",
		Example: "  cairn-bench load --memories 1000",
	}, func(ctx context.Context) error {
		if memories < 1 {
			return cli.UsageError(fmt.Errorf("invalid --memories %d: must be at least 1", memories))
		}
		return p.runLoad(ctx, memories, seed)
	})
	cmd.Flags().IntVar(&memories, "memories", 20_000, "number of memories")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "random seed of the texts")
	return cmd
}

func (p *program) runLoad(ctx context.Context, memories int, seed uint64) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	h, done, err := tempcairn.OpenDatabase(ctx, tempcairn.Options{}, p.errs)
	if err != nil {
		return err
	}
	defer done()
	r, err := speed.MeasureLoads(ctx, h, memories, seed)
	if err != nil {
		return err
	}
	var slow error
	for what, rate := range map[string]float64{"loaded from a dump": r.Load, "saved by POST /v1/memories/batch": r.HTTP,
		"saved over mem0's route": r.Mem0} {
		if rate < loadGoal {
			slow = errors.Join(slow, fmt.Errorf("%.0f memories per second were %s, goal %d", rate, what, loadGoal))
		}
	}
	return errors.Join(p.measured(r, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d memories of %d targets, dump of %.1f MB: saved in batches %.0f/s, loaded %.0f/s, "+
			"with vectors %.0f/s, again %.0f/s\nover HTTP in batches of 500: POST /v1/memories/batch %.0f/s, mem0's "+
			"add with infer=false %.0f/s; one in each request %.0f/s\n", r.Memories, r.Targets, float64(r.Bytes)/1e6,
			r.Batch, r.Load, r.Vectors, r.Repeat, r.HTTP, r.Mem0, r.One)
		return err
	}), missed(slow))
}
