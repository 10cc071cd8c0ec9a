package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/app/cli"
	"cairn/internal/app/samples"
	"cairn/internal/bench/taubench"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/service/evaluation"
	"cairn/internal/service/evaluation/locomo"
)

// Benchmarks of the offline rules on public data.

// Files of public data, below $CAIRN_DATA.
const (
	tauFile    = "tau/airline-train.json"
	locomoFile = "locomo/locomo8.json"
)

func (p *program) tau() *cobra.Command {
	var file string
	var atOnce int
	cmd := p.benchmark(&cobra.Command{
		Use: "tau", Short: "Distill τ-bench's airline trajectories offline and search the skills for personal data",
		Example: "  cairn-bench tau --file airline.json --at-once 2",
	}, func(ctx context.Context) error {
		path, err := publicFile(file, tauFile, "file",
			"historical_trajectories/gpt-4o-airline.json of sierra-research/tau-bench")
		if err != nil {
			return err
		}
		return p.runTau(ctx, path, atOnce)
	})
	cmd.Flags().StringVar(&file, "file", "",
		"file with trajectories of τ-bench (default "+tauFile+" under $CAIRN_DATA, else ../shared/data)")
	cmd.Flags().IntVar(&atOnce, "at-once", 4, "maximum parallel distillations")
	return cmd
}

func (p *program) runTau(ctx context.Context, path string, atOnce int) error {
	if atOnce < 1 {
		return cli.UsageError(errors.New("--at-once must be at least 1"))
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	conversations, err := trajectoriesIn(path)
	if err != nil {
		return err
	}
	lab, done, err := taubench.OpenLab(ctx, p.errs)
	if err != nil {
		return err
	}
	defer done()
	r, err := lab.Distil(ctx, conversations, atOnce)
	if err != nil {
		return err
	}
	shown := p.measured(r, func(w io.Writer) error {
		r.Print(w, atOnce)
		return nil
	})
	return errors.Join(shown, held(len(r.Errors)+len(r.Leaks) == 0)) // a leak is personal data of a customer in a skill
}

// trajectoriesIn reads a trajectory file of τ-bench.
func trajectoriesIn(path string) ([]transcript.Conversation, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(
			err,
			fault.NotFound,
			"open the trajectories",
			"set --file to a file with trajectories of τ-bench",
		)
	}
	defer in.Close()
	result, err := intake.Read("airline", in, intake.Options{})
	return result.Conversations, err
}

func (p *program) loop() *cobra.Command {
	o := evaluation.DefaultOptions()
	var talks, logs string
	cmd := &cobra.Command{
		Use: "loop", Short: "Compare learning memory skills with fixed ones on LoCoMo and mixed traces",
		Example: "  cairn-bench loop --folds 2 --seeds 1 --iterations 2 --rounds 1 --logs \"\"",
	}
	p.benchmark(cmd, func(ctx context.Context) (err error) {
		if talks, err = publicFile(talks, locomoFile, "talks", "locomo10.json of snap-research/locomo"); err != nil {
			return err
		}
		if !cmd.Flags().Changed("logs") {
			logs = samples.Public(tauFile)
		}
		return p.runLoop(ctx, o, talks, logs)
	})
	flags := cmd.Flags()
	flags.StringVar(&talks, "talks", "", "file in the format of snap-research/locomo (default "+locomoFile+
		" under $CAIRN_DATA, else ../shared/data)")
	flags.StringVar(&logs, "logs", "", "trajectories of τ-bench (default "+tauFile+
		" there); empty skips mixed traces")
	flags.IntVar(&o.Folds, "folds", o.Folds, "number of held-out conversations")
	flags.IntVar(&o.Seeds, "seeds", o.Seeds, "number of runs per fold, averaged")
	flags.IntVar(&o.K, "k", o.K, "number of skills per span")
	flags.IntVar(&o.Iterations, "iterations", o.Iterations, "number of training iterations per stage")
	flags.IntVar(&o.Episodes, "episodes", o.Episodes, "number of episodes per iteration")
	flags.IntVar(&o.Rounds, "rounds", o.Rounds, "maximum number of designer rounds")
	flags.IntVar(&o.Workers, "workers", o.Workers, "maximum parallel runs")
	flags.BoolVar(&o.MixedOnly, "mixed-only", false, "skip the traces that contain only talks")
	return cmd
}

// runLoop skips mixed traces if logs is empty.
func (p *program) runLoop(ctx context.Context, o evaluation.Options, talks, logs string) (err error) {
	o.Answers = app.OfflineAnswering()
	o.Log = func(format string, args ...any) { fmt.Fprintf(p.errs, format+"\n", args...) }
	var d evaluation.Data
	if d.Talks, err = locomo.Open(talks); err != nil {
		return err
	}
	if logs != "" {
		conversations, err := trajectoriesIn(logs)
		if err != nil {
			return err
		}
		d.Logs = evaluation.LogsOf(conversations)
	}
	started := time.Now()
	debug.SetGCPercent(300) // episodes allocate many small objects
	tables, err := evaluation.MeasureAll(ctx, d, o)
	if err != nil {
		return err
	}
	lines, ok := evaluation.Verdict(tables), true
	for _, l := range lines {
		ok = ok && l.OK
	}
	took := time.Since(started).Seconds()
	shown := p.measured(map[string]any{"tables": tables, "lines": lines, "seconds": took}, func(w io.Writer) error {
		evaluation.Print(w, tables, lines)
		_, err := fmt.Fprintf(w, "\n%.0f s\n", took)
		return err
	})
	if !ok {
		err = missed(errors.New("a line failed"))
	}
	return errors.Join(shown, err)
}
