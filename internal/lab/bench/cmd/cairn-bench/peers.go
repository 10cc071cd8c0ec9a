package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/lab/bench/peerbench"
)

func (p *program) peers() *cobra.Command {
	o := peerbench.Options{Program: "bin/cairn", Adds: 20, Rows: 10_000, Queries: 50, Latency: 20 * time.Millisecond}
	limit := 30 * time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use:   "peers",
		Short: "Compare Cairn with the Python packages of mem0 and LangMem",
		Long: "Measure adds with inference, searches among the memories of one user, processor time, and losses " +
			"after SIGKILL, with the same scripted model and embeddings.\nIt needs Python and a package index, " +
			"starts all servers, and reads clients/peers: run it in a clone of Cairn.",
		Example: "  cairn-bench peers --rows 1000",
	}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if o.Adds < 4 || o.Rows < 1 || o.Queries < 1 {
			return cli.UsageError(errors.New("--adds must be at least 4, --rows and --queries at least 1"))
		}
		program, err := filepath.Abs(o.Program)
		if err != nil {
			return err
		}
		o.Program, o.Log = program, p.errs
		result, err := peerbench.Run(ctx, o)
		if len(result.Rows) == 0 {
			return err
		}
		return errors.Join(p.measured(result, result.Print), err, held(result.Held()))
	})
	flags := cmd.Flags()
	flags.StringVar(&o.Program, "cairn", o.Program, "path of the cairn binary, built with make build")
	flags.IntVar(&o.Adds, "adds", o.Adds, "number of adds with inference, and again for the losses")
	flags.IntVar(&o.Rows, "rows", o.Rows, "number of memories of the user who is searched")
	flags.IntVar(&o.Queries, "queries", o.Queries, "number of searches")
	flags.DurationVar(&o.Latency, "model", o.Latency, "latency of the model")
	flags.DurationVar(&limit, "limit", limit, "time limit; systems that are not reached have no row")
	return cmd
}
