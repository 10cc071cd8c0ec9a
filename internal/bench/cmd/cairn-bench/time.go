package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/bench/distillbench"
	"cairn/internal/bench/sweepbench"
	"cairn/internal/bench/turnbench"
)

// What durable execution costs: distillations, turns and sweeps beside bare
// workflows.

func (p *program) distill() *cobra.Command {
	o := distillbench.Options{Log: p.errs}
	cmd := p.benchmark(&cobra.Command{
		Use: "distill", Short: "Measure what distillations cost beside their model calls and a bare workflow",
		Long: "Distil with a scripted model on a Temporal server that keeps its state in memory, then on one that " +
			"keeps it in a file: how long one\n" +
			"takes beside its longest chain of model calls, and how many a second many at once come to beside bare " +
			"workflows.",
		Example: "  cairn-bench distill --servers memory --runs 5 --load 64 --at-once 16",
	}, func(ctx context.Context) error {
		all, err := distillbench.Run(ctx, o)
		if len(all) == 0 {
			return err
		}
		// What was measured before something failed is worth seeing.
		shown := p.measured(all, func(w io.Writer) error {
			fmt.Fprintln(w, p.line())
			return distillbench.Print(w, all)
		})
		return errors.Join(err, shown, missed(distillbench.Missed(all)))
	})
	flags := cmd.Flags()
	flags.IntVar(&o.Runs, "runs", 25, "distillations of the latency measurement")
	flags.IntVar(&o.Load, "load", 256, "distillations of the throughput measurement")
	flags.IntVar(&o.AtOnce, "at-once", 64, "of these at once")
	flags.IntVar(&o.Workspaces, "workspaces", 64, "that they are spread over")
	flags.StringSliceVar(&o.Servers, "servers", []string{distillbench.InMemory, distillbench.InFile},
		"kinds of Temporal server, by where it keeps its state")
	return cmd
}

func (p *program) turns() *cobra.Command {
	o := turnbench.Full()
	var tiny bool
	var atOnce int
	cmd := p.benchmark(&cobra.Command{
		Use: "turns", Short: "Measure what turns of 1, 2 and 4 model calls cost beside a bare workflow",
		Long: "Have 1, 16 and 64 conversations at once with a scripted model, and set a turn's time without the " +
			"model's beside a bare workflow's.\n" +
			"It fails when a goal is missed, and when it could not measure all.",
		Example: "  cairn-bench turns --tiny\n  cairn-bench turns --at-once 16 --reply 100ms -o json",
	}, func(ctx context.Context) error {
		if tiny {
			small := turnbench.Tiny()
			o.Calls, o.Loads = small.Calls, small.Loads
		}
		if atOnce != 0 {
			o.Only(atOnce)
		}
		if len(o.Loads) == 0 {
			return cli.UsageError(fmt.Errorf("--at-once %d is none of the loads: 1, 16 or 64, with --tiny 1 or 4",
				atOnce))
		}
		o.Log = p.errs
		result, err := turnbench.Run(ctx, o)
		if len(result.Cells) == 0 {
			return err
		}
		// What was measured before something failed is worth seeing.
		shown := p.measured(result, func(w io.Writer) error {
			fmt.Fprintln(w, p.line())
			return result.Print(w)
		})
		return errors.Join(err, shown, missed(result.Missed()))
	})
	flags := cmd.Flags()
	flags.BoolVar(&tiny, "tiny", false, "measure just enough to see that it works")
	flags.DurationVar(&o.Reply, "reply", o.Reply, "that the model takes; 0 answers at once")
	flags.DurationVar(&o.Limit, "limit", o.Limit, "after which it fails with what was measured by then")
	flags.IntVar(&atOnce, "at-once", 0, "measure this load only: 1, 16 or 64 conversations; 0 measures all")
	return cmd
}

func (p *program) sweep() *cobra.Command {
	o := sweepbench.Full()
	cmd := p.benchmark(&cobra.Command{
		Use: "sweep", Short: "Sweep over workspaces that are due at once, beside bare starts, while the worker is " +
			"killed",
		Long: "Have the daily reflection of many workspaces due at the same time and sweep over them twice, " +
			"undisturbed and while the worker is\n" +
			"killed: how fast it is beside bare starts, and whether one was missed or started twice.",
		Example: "  cairn-bench sweep --workspaces 1000 --talking 50 --kills 1",
	}, func(ctx context.Context) error {
		if o.Talking < 1 || o.Workspaces < o.Talking || o.Kills < 0 {
			return cli.UsageError(errors.New("give at least as many --workspaces as --talking, 1 or more, and " +
				"--kills of 0 or more"))
		}
		o.Log = p.errs
		result, err := sweepbench.Run(ctx, o)
		if err != nil {
			return err
		}
		err = p.measured(result, func(w io.Writer) error {
			fmt.Fprintln(w, p.line())
			return result.Print(w)
		})
		if failures := result.Failures(); len(failures) > 0 {
			err = errors.Join(err, missed(errors.New(strings.Join(failures, "; "))))
		}
		return err
	})
	flags := cmd.Flags()
	flags.IntVar(&o.Workspaces, "workspaces", o.Workspaces, "that are due at once")
	flags.IntVar(&o.Talking, "talking", o.Talking, "every so manieth has conversations")
	flags.IntVar(&o.Kills, "kills", o.Kills, "of the worker, in the second sweep")
	flags.DurationVar(&o.Limit, "limit", o.Limit, "after which it gives up")
	return cmd
}
