package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/lab/bench/speed"
)

// Benchmarks of the cost of durable execution: distillations, turns and sweeps compared with
// bare workflows.

func (p *program) distill() *cobra.Command {
	o := speed.DistillOptions{Log: p.errs}
	cmd := p.benchmark(&cobra.Command{
		Use:   "distill",
		Short: "Measure the cost of distillations in addition to model calls",
		Long: "Distill with a scripted model on a Temporal server with its state in memory, then on one with its " +
			"state in a file.\nMeasure the time of a distillation relative to its longest chain of model calls, " +
			"and the throughput relative to\nbare workflows of the same shape.",
		Example: "  cairn-bench distill --servers memory --runs 5 --load 64 --at-once 16",
	}, func(ctx context.Context) error {
		all, err := speed.RunDistillations(ctx, o)
		if len(all) == 0 {
			return err
		}
		// Print the measurements also if a later one failed.
		shown := p.measured(all, func(w io.Writer) error {
			fmt.Fprintln(w, p.line())
			return speed.PrintDistillations(w, all)
		})
		return errors.Join(err, shown, missed(speed.DistillMissed(all)))
	})
	flags := cmd.Flags()
	flags.IntVar(&o.Runs, "runs", 25, "number of distillations in the latency measurement")
	flags.IntVar(&o.Load, "load", 256, "number of distillations in the throughput measurement")
	flags.IntVar(&o.AtOnce, "at-once", 64, "maximum parallel distillations in the throughput measurement")
	flags.IntVar(&o.Workspaces, "workspaces", 64, "number of workspaces in the throughput measurement")
	flags.StringSliceVar(&o.Servers, "servers", []string{speed.InMemory, speed.InFile},
		"kinds of Temporal server: memory, file")
	return cmd
}

func (p *program) turns() *cobra.Command {
	o := speed.Full()
	var tiny, storage bool
	var atOnce int
	cmd := p.benchmark(&cobra.Command{
		Use:   "turns",
		Short: "Measure turns of 1, 2 and 4 model calls against a bare workflow",
		Long: "Run 1, 16 and 64 parallel conversations with a scripted model. Compare the time of a turn, without " +
			"the time of the\nmodel, with that of a bare workflow. With --storage, measure what a turn leaves " +
			"in Postgres\ninstead. The command fails if a goal is missed or a measurement is incomplete.",
		Example: "  cairn-bench turns --tiny\n  cairn-bench turns --storage\n" +
			"  cairn-bench turns --at-once 16 --reply 100ms -o json",
	}, func(ctx context.Context) error {
		if tiny {
			small := speed.TurnTiny()
			o.Calls, o.Loads = small.Calls, small.Loads
		}
		if atOnce != 0 {
			o.Only(atOnce)
		}
		if len(o.Loads) == 0 {
			return cli.UsageError(fmt.Errorf("invalid --at-once %d: use 1, 16 or 64, or with --tiny 1 or 4",
				atOnce))
		}
		o.Log = p.errs
		if storage {
			stored, err := speed.Store(ctx, o)
			if err != nil {
				return err
			}
			return errors.Join(p.measured(stored, stored.Print), missed(stored.Missed()))
		}
		result, err := speed.RunTurns(ctx, o)
		if len(result.Cells) == 0 {
			return err
		}
		// Print the measurements also if a later one failed.
		shown := p.measured(result, func(w io.Writer) error {
			fmt.Fprintln(w, p.line())
			return result.Print(w)
		})
		return errors.Join(err, shown, missed(result.Missed()))
	})
	flags := cmd.Flags()
	flags.BoolVar(&tiny, "tiny", false, "run a minimal measurement")
	flags.BoolVar(&storage, "storage", false, "measure the bytes that a turn leaves in Postgres")
	flags.DurationVar(&o.Reply, "reply", o.Reply, "response time of the model")
	flags.DurationVar(&o.Limit, "limit", o.Limit, "time limit; then print the measurements so far and fail")
	flags.IntVar(&atOnce, "at-once", 0, "measure only this load: 1, 16 or 64 conversations; 0 measures all")
	return cmd
}

func (p *program) retention() *cobra.Command {
	o, r := speed.Full(), speed.Retention{Days: 10, Turns: 1000}
	o.Reply, o.Limit = 0, 30*time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use: "retention", Short: "Measure whether tables stop growing when old records are removed",
		Long: "Run days of turns with two model calls each. After each day, remove the records of earlier days, as a " +
			"worker\ndoes with a retention of a day, and print the sizes of the tables. The command fails if the " +
			"tables still grow.",
		Example: "  cairn-bench retention --days 3 --turns 40",
	}, func(ctx context.Context) error {
		if r.Days < 1 || r.Turns < 1 {
			return cli.UsageError(errors.New("--days and --turns must be at least 1"))
		}
		o.Log = p.errs
		days, err := speed.Retain(ctx, o, r)
		if err != nil {
			return err
		}
		return errors.Join(p.measured(days, func(w io.Writer) error { return speed.PrintDays(w, days) }),
			missed(speed.DaysMissed(days)))
	})
	cmd.Flags().IntVar(&r.Days, "days", r.Days, "number of simulated days")
	cmd.Flags().IntVar(&r.Turns, "turns", r.Turns, "number of turns of a day")
	return cmd
}

func (p *program) add() *cobra.Command {
	o, chaos := speed.AddFull(), false
	models := []string{"0ms", "20ms", "200ms"}
	cmd := p.benchmark(&cobra.Command{
		Use:   "add",
		Short: "Measure adds to memory with one model call against a bare workflow",
		Long: "Add sessions of two messages through the gateway with a scripted model, and wait for each result. " +
			"Compare the\nprocessor time of all processes with that of a bare workflow of one activity. With " +
			"--chaos, add 500 sessions\nwhile the worker is killed every 3 s and Postgres and Temporal crash, and " +
			"count what is lost, doubled or paid twice.\nThe command fails if a goal is missed.",
		Example: "  cairn-bench add --model 0ms,20ms,200ms --callers 1,16,64\n" +
			"  cairn-bench add --model 20ms --callers 16 --adds 50 -o json\n  cairn-bench add --chaos",
	}, func(ctx context.Context) error {
		o.Log = p.errs
		if chaos {
			return p.addChaos(ctx)
		}
		o.Models = nil
		for _, text := range models {
			d, err := time.ParseDuration(text)
			if err != nil || d < 0 {
				return cli.UsageError(fmt.Errorf("invalid --model %q: use a duration such as 20ms", text))
			}
			o.Models = append(o.Models, d)
		}
		if len(o.Callers) == 0 || slices.Min(o.Callers) < 1 || o.Adds < 1 {
			return cli.UsageError(errors.New("--callers and --adds must be at least 1"))
		}
		result, err := speed.RunAdds(ctx, o)
		if len(result.Cells) == 0 {
			return err
		}
		// Print the measurements also if a later one failed.
		shown := p.measured(result, func(w io.Writer) error {
			fmt.Fprintln(w, p.line())
			return result.Print(w)
		})
		return errors.Join(err, shown, missed(result.Missed()))
	})
	flags := cmd.Flags()
	flags.StringSliceVar(&models, "model", models, "response times of the model")
	flags.IntSliceVar(&o.Callers, "callers", o.Callers, "numbers of callers at once")
	flags.IntVar(&o.Adds, "adds", o.Adds, "number of adds for each model and number of callers")
	flags.DurationVar(&o.Limit, "limit", o.Limit, "time limit; then print the measurements so far and fail")
	flags.BoolVar(&chaos, "chaos", false, "run the experiment with faults instead")
	return cmd
}

func (p *program) addChaos(ctx context.Context) error {
	o := speed.FullChaos()
	o.Log = p.errs
	r, err := speed.Chaos(ctx, o)
	if err != nil {
		return err
	}
	var broken error
	if !r.Held() {
		broken = errors.New("an add was lost, doubled or paid twice")
	}
	return errors.Join(p.measured(r, func(w io.Writer) error {
		fmt.Fprintln(w, p.line())
		return r.Print(w)
	}), missed(broken))
}

func (p *program) stream() *cobra.Command {
	o := speed.StreamOptions{AtOnce: []int{1, 16, 200}, Log: p.errs}
	limit := 10 * time.Minute
	cmd := p.benchmark(&cobra.Command{
		Use: "stream", Short: "Measure how long text takes from the model to the client of a streamed chat",
		Example: "  cairn-bench stream --at-once 1,16",
	}, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if o.Program, err = filepath.Abs(o.Program); err != nil {
			return err
		}
		rows, err := speed.RunStreams(ctx, o)
		return errors.Join(err, p.measured(rows, func(w io.Writer) error { return speed.PrintStreams(w, rows) }))
	})
	flags := cmd.Flags()
	flags.StringVar(&o.Program, "cairn", "bin/cairn", "path of the cairn binary, built with make build")
	flags.IntSliceVar(&o.AtOnce, "at-once", o.AtOnce, "numbers of streams at once")
	flags.IntVar(&o.Turns, "turns", 40, "minimum number of turns for each number of streams")
	flags.IntVar(&o.Parts, "parts", 40, "number of parts of a reply")
	flags.DurationVar(&o.Pace, "pace", 50*time.Millisecond, "time between two parts of a reply")
	flags.DurationVar(&limit, "limit", limit, "time limit")
	return cmd
}

func (p *program) sweep() *cobra.Command {
	o := speed.SweepFull()
	cmd := p.benchmark(&cobra.Command{
		Use:   "sweep",
		Short: "Measure the sweep over due workspaces, also while the worker is killed",
		Long: "Make the daily reflection of many workspaces due at the same time and sweep twice: undisturbed, and " +
			"while the worker\nis killed. Measure the rate relative to bare starts, and count missed and " +
			"duplicated starts.",
		Example: "  cairn-bench sweep --workspaces 1000 --talking 50 --kills 1",
	}, func(ctx context.Context) error {
		if o.Talking < 1 || o.Workspaces < o.Talking || o.Kills < 0 {
			return cli.UsageError(errors.New("--workspaces must be at least --talking, --talking at least 1, and " +
				"--kills at least 0"))
		}
		o.Log = p.errs
		result, err := speed.RunSweeps(ctx, o)
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
	flags.IntVar(&o.Workspaces, "workspaces", o.Workspaces, "number of due workspaces")
	flags.IntVar(&o.Talking, "talking", o.Talking, "every n-th workspace has conversations")
	flags.IntVar(&o.Kills, "kills", o.Kills, "number of kills of the worker in the second sweep")
	flags.DurationVar(&o.Limit, "limit", o.Limit, "time limit")
	return cmd
}
