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

	"cairn/internal/adapter/offlinemodel"
	"cairn/internal/app/cli"
	"cairn/internal/app/samples"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/lab/bench/taubench"
	"cairn/internal/lab/world"
	"cairn/internal/service/evaluation"
)

// Benchmarks of the offline rules on public data.

// Files of public data, below $CAIRN_DATA.
const (
	tauFile    = "tau/airline-train.json"
	locomoFile = "locomo/locomo8.json"
)

// tauOptions configures the distillation of τ-bench's trajectories.
type tauOptions struct {
	file              string
	atOnce            int
	scripted, rewards bool
	out               string
}

func (p *program) tau() *cobra.Command {
	var o tauOptions
	cmd := p.benchmark(&cobra.Command{
		Use: "tau", Short: "Distill τ-bench's airline trajectories and search the skills for personal data",
		Long: "Distill τ-bench's airline trajectories and search the skills for personal data and invented tools. " +
			"With --scripted, drafts do not count as those of the offline model, and a judge likes all of them: then " +
			"no skill that only failed conversations taught may be active, and without --rewards none without an " +
			"observed success.",
		Example: "  cairn-bench tau --file airline.json --at-once 2\n" +
			"  cairn-bench tau --file airline.json --scripted --rewards=false --out skills",
	}, func(ctx context.Context) error {
		path, err := publicFile(o.file, tauFile, "file",
			"historical_trajectories/gpt-4o-airline.json of sierra-research/tau-bench")
		if err != nil {
			return err
		}
		o.file = path
		return p.runTau(ctx, o)
	})
	cmd.Flags().StringVar(&o.file, "file", "",
		"file with trajectories of τ-bench (default "+tauFile+" under $CAIRN_DATA, else ../shared/data)")
	cmd.Flags().IntVar(&o.atOnce, "at-once", 4, "maximum parallel distillations")
	cmd.Flags().BoolVar(&o.scripted, "scripted", false, "use a scripted model and a judge that likes every draft")
	cmd.Flags().BoolVar(&o.rewards, "rewards", true, "tell Cairn how the conversations ended")
	cmd.Flags().StringVar(&o.out, "out", "", "folder to write the skills to (default none)")
	return cmd
}

func (p *program) runTau(ctx context.Context, o tauOptions) error {
	if o.atOnce < 1 {
		return cli.UsageError(errors.New("--at-once must be at least 1"))
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	conversations, err := trajectoriesIn(o.file)
	if err != nil {
		return err
	}
	lab, done, err := taubench.OpenLab(ctx, p.errs, o.scripted)
	if err != nil {
		return err
	}
	defer done()
	r, err := lab.Distil(ctx, conversations, o.atOnce, o.rewards)
	if err != nil {
		return err
	}
	shown := p.measured(r, func(w io.Writer) error {
		r.Print(w, o.atOnce, o.rewards)
		return nil
	})
	if o.out != "" {
		shown = errors.Join(shown, r.Write(o.out))
	}
	broken, _, _ := r.Promise(o.rewards)
	// A leak is personal data of a customer in a skill.
	return errors.Join(shown, held(len(r.Errors)+len(r.Leaks)+len(broken) == 0 && r.Invented() == 0))
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
	o := world.DefaultOptions()
	var talks, logs string
	cmd := &cobra.Command{
		Use: "loop", Short: "Test the plumbing of learning memory skills in an offline world",
		Long: "Test the plumbing of learning memory skills on LoCoMo and mixed traces. This is no evidence that " +
			"learning helps: offline rules extract the memories, propose the edits and answer, and the score counts " +
			"words that the same rules select. To measure a language model, use `cairn eval memskill`.",
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
func (p *program) runLoop(ctx context.Context, o world.Options, talks, logs string) (err error) {
	o.Answers = &world.Answering{Model: offlinemodel.New(0), Name: offlinemodel.ModelName}
	o.Log = func(format string, args ...any) { fmt.Fprintf(p.errs, format+"\n", args...) }
	var d world.Data
	if d.Talks, err = evaluation.OpenLocomo(talks); err != nil {
		return err
	}
	if logs != "" {
		conversations, err := trajectoriesIn(logs)
		if err != nil {
			return err
		}
		d.Logs = world.LogsOf(conversations)
	}
	fmt.Fprintln(p.errs, "plumbing test: offline rules extract, design and answer; the figures say nothing about "+
		"language models")
	started := time.Now()
	debug.SetGCPercent(300) // episodes allocate many small objects
	tables, err := world.MeasureAll(ctx, d, o)
	if err != nil {
		return err
	}
	lines, ok := world.Verdict(tables), true
	for _, l := range lines {
		ok = ok && l.OK
	}
	took := time.Since(started).Seconds()
	shown := p.measured(map[string]any{"tables": tables, "lines": lines, "seconds": took}, func(w io.Writer) error {
		world.Print(w, tables, lines)
		_, err := fmt.Fprintf(w, "\n%.0f s\n", took)
		return err
	})
	if !ok {
		err = missed(errors.New("a line failed"))
	}
	return errors.Join(shown, err)
}
