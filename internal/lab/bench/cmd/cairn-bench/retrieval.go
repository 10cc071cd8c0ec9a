package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/app/config"
	"cairn/internal/app/samples"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/bench/retrieval"
	"cairn/internal/lab/tempcairn"
)

// retrievalOptions configures the benchmark retrieval.
type retrievalOptions struct {
	retrieval.Options
	embedder, profile, baseline, plot string
	minDelta                          float64
	hasMinDelta                       bool
}

const retrievalLong = "Measure search in a temporary database with questions whose answers are known. The suite " +
	"locomo asks for turns of LoCoMo, each conversation in a workspace of its own. distractors asks the same with " +
	"all conversations in one workspace. longmemeval asks for turns in the histories of a LongMemEval file. needle " +
	"asks 60 exact questions about generated rows of frequent words. paraphrase asks 60 questions that share no word " +
	"with the memory that answers them. growth compares the word index with exhaustive BM25 by number of rows. " +
	"filters compares 500 random filters with reading every document.\n\n" +
	"With --output json the report contains the rank of each answer. Pass it later as --baseline to compare two runs " +
	"question by question; --min-delta makes the command fail if the mean difference is lower."

func (p *program) retrieval() *cobra.Command {
	o := retrievalOptions{}
	var cmd *cobra.Command
	cmd = p.benchmark(&cobra.Command{
		Use: "retrieval", Short: "Measure search by suites of questions", Long: retrievalLong,
		Example: "  cairn-bench retrieval --data locomo10.json --output json\n" +
			"  cairn-bench retrieval --suite needle --size 1000 --embedder none",
	}, func(ctx context.Context) error {
		o.hasMinDelta = cmd.Flags().Changed("min-delta")
		return p.runRetrieval(ctx, o)
	})
	f := cmd.Flags()
	f.StringVar(&o.Suite, "suite", retrieval.LoCoMo, "suite: "+strings.Join(retrieval.Suites, ", "))
	f.StringVar(&o.embedder, "embedder", "hashing", "embedder: hashing, configured (CAIRN_EMBEDDING_MODEL) or none")
	f.StringVar(&o.Data, "data", "", "file in the format of snap-research/locomo (default locomo/locomo8.json in "+
		"$CAIRN_DATA, else in ../shared/data), or of LongMemEval for that suite")
	f.StringVar(&o.profile, "profile", "", "file of search parameters, as CAIRN_SEARCH_PROFILE (default none)")
	f.StringVar(&o.baseline, "baseline", "", "JSON report of another run to compare with (default none)")
	f.Float64Var(&o.minDelta, "min-delta", 0, "lowest difference of the mean score to the baseline (default no limit)")
	f.IntSliceVar(&o.Sizes, "size", nil, "number of generated documents; may be a list (default 5000 for needle and "+
		"filters, 500 for paraphrase, 1000,5000,20000 for growth)")
	f.StringSliceVar(&o.Vocabularies, "vocabulary", nil, "generated texts: s (sentences of one form) or z (Zipf) "+
		"(default both)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of generated texts")
	f.StringVar(&o.plot, "plot", "", "write the result of the suite growth to this SVG file (default none)")
	return cmd
}

// check refuses combinations of flags before anything is started.
func (o *retrievalOptions) check() (base retrieval.Report, err error) {
	if !slices.Contains([]string{"hashing", "configured", "none"}, o.embedder) {
		return base, cli.UsageError(fmt.Errorf("unknown --embedder %q: use hashing, configured or none", o.embedder))
	}
	if o.hasMinDelta && o.baseline == "" && o.Suite != retrieval.Distractors {
		return base, cli.UsageError(fmt.Errorf("--min-delta needs a run to compare with: pass it with --baseline"))
	}
	if o.plot != "" && o.Suite != retrieval.Growth {
		return base, cli.UsageError(fmt.Errorf("--plot draws the suite growth: pass --suite growth"))
	}
	if o.Data == "" && (o.Suite == retrieval.LoCoMo || o.Suite == retrieval.Distractors) {
		if o.Data = samples.Public("locomo/locomo8.json"); o.Data == "" {
			return base, cli.UsageError(fmt.Errorf("no LoCoMo file found: pass one with --data"))
		}
	}
	if o.baseline == "" {
		return base, nil
	}
	raw, err := os.ReadFile(o.baseline)
	if err != nil {
		return base, fault.Wrap(err, fault.InvalidArgument, "cannot read the baseline",
			"pass a file written by `cairn-bench retrieval -o json`")
	}
	if err := json.Unmarshal(raw, &base); err != nil {
		return base, fault.Wrap(err, fault.InvalidArgument, o.baseline+" is not a report",
			"pass a file written by `cairn-bench retrieval -o json`")
	}
	return base, nil
}

const (
	retrievalLimit = 2 * time.Hour
	largeSize      = 50_000 // documents from which the database gets more memory
)

func (p *program) runRetrieval(ctx context.Context, o retrievalOptions) error {
	ctx, cancel := context.WithTimeout(ctx, retrievalLimit)
	defer cancel()
	base, err := o.check()
	if err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	settings := tempcairn.Options{Profile: o.profile}
	if len(o.Sizes) > 0 && slices.Max(o.Sizes) >= largeSize {
		settings.Buffers = "2GB"
	}
	if o.embedder == "configured" {
		cfg, err := config.Load(os.Environ(), nil)
		if err != nil {
			return err
		}
		if cfg.EmbeddingModel == "" {
			return cli.UsageError(fmt.Errorf("no embedding model is configured: set CAIRN_EMBEDDING_MODEL and " +
				"CAIRN_EMBEDDING_DIMENSIONS"))
		}
		settings.Embedding = &cfg
	}
	h, done, err := tempcairn.OpenDatabase(ctx, settings, p.errs)
	if err != nil {
		return err
	}
	defer done()
	o.Log = func(format string, args ...any) { fmt.Fprintf(p.errs, format+"\n", args...) }
	cairn := retrieval.Of(h, o.embedder == "none")
	fmt.Fprintf(p.errs, "measuring %s with embedder %s, %d dimensions\n", o.Suite, cairn.Embedder, cairn.Dims)
	r, err := retrieval.Run(ctx, cairn, o.Options)
	if err != nil {
		return err
	}
	if o.baseline != "" {
		versus, err := retrieval.Compare(r, base)
		if err != nil {
			return err
		}
		r.Versus = &versus
	}
	return p.showRetrieval(o, r)
}

// showRetrieval prints a report. It returns an error if the difference to the baseline is too low.
func (p *program) showRetrieval(o retrievalOptions, r retrieval.Report) error {
	if o.plot != "" {
		if err := os.WriteFile(o.plot, r.Plot(), 0o644); err != nil {
			return fmt.Errorf("write the plot: %w", err)
		}
	}
	if err := p.measured(r, func(out io.Writer) error { return printRetrieval(out, o, r) }); err != nil {
		return err
	}
	if o.hasMinDelta && r.Versus.Delta < o.minDelta {
		return fault.New(fault.Internal,
			fmt.Sprintf("the score differs by %+.4f from the baseline, less than %+.4f", r.Versus.Delta, o.minDelta),
			"compare the ranks of the questions in both reports")
	}
	return nil
}

// Names of LoCoMo's categories.
var locomoCategories = map[string]string{"1": "1 multi-hop", "2": "2 temporal", "3": "3 open", "4": "4 single-hop"}

func printRetrieval(out io.Writer, o retrievalOptions, r retrieval.Report) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if r.Recall != nil {
		recallTable(tw, r)
	} else {
		fmt.Fprintln(tw, "SUITE\tDOCUMENTS\tQUESTIONS\t"+strings.Join(r.Columns, "\t"))
		for _, row := range r.Rows {
			fmt.Fprintf(tw, "%s\t%d\t%d", row.Name, row.Size, row.Questions)
			for _, column := range r.Columns {
				fmt.Fprintf(tw, "\t"+formatOf(column), row.Values[column])
			}
			fmt.Fprintln(tw)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if r.Recall != nil {
		fmt.Fprintf(
			out,
			"\n%d turns, stored at %.0f per second; search p50 %.1f ms, p99 %.1f ms; %d questions without "+
				"evidence turns skipped\n",
			r.Turns,
			r.TurnsPerSec,
			r.P50,
			r.P99,
			r.Skipped,
		)
	} else {
		fmt.Fprintf(out, "\n%s: %.4f over %d questions\n", r.Metric, r.Score, len(r.Ranks))
	}
	fmt.Fprintf(out, "embedder %s; data %.12s, settings %.12s\n", r.Embedder, r.DataHash, r.SettingsHash)
	if v := r.Versus; v != nil {
		with := "the baseline"
		if o.baseline == "" {
			with = "each conversation alone"
		}
		fmt.Fprintf(
			out,
			"%s against %s: %+.4f (95 %% interval %+.4f to %+.4f) over %d questions, %d better, %d worse%s\n",
			r.Metric,
			with,
			v.Delta,
			v.Low,
			v.High,
			v.Questions,
			v.Better,
			v.Worse,
			differences(*v),
		)
	}
	return nil
}

// differences says what else differs between two runs.
func differences(v retrieval.Comparison) string {
	var out []string
	if !v.SameData {
		out = append(out, "data")
	}
	if !v.SameSettings {
		out = append(out, "settings or embedder")
	}
	if len(out) == 0 {
		return ""
	}
	return "; different " + strings.Join(out, ", ")
}

// formatOf returns the verb for the values of a column.
func formatOf(column string) string {
	switch column {
	case "P50 MS", "P99 MS":
		return "%.1f"
	case "ROWS READ", "INDEX BYTES", "ALL BYTES", "STORED/S", "PASSING":
		return "%.0f"
	}
	return "%.3f"
}

func recallTable(tw io.Writer, r retrieval.Report) {
	base := "BM25"
	if r.Suite == retrieval.Distractors {
		base = "ALONE"
	}
	fmt.Fprintf(tw, "CATEGORY\tQUESTIONS\tRECALL@5\tRECALL@10\tRECALL@20\t%[1]s@5\t%[1]s@10\t%[1]s@20\n", base)
	line := func(name string, ours, base retrieval.Share) {
		fmt.Fprintf(tw, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\n", name, ours.Questions, ours.At5, ours.At10,
			ours.At20, base.At5, base.At10, base.At20)
	}
	categories := []string{}
	for c := range r.Categories {
		categories = append(categories, c)
	}
	slices.Sort(categories)
	for _, c := range categories {
		name := c
		if r.Suite != retrieval.LongMemEval && locomoCategories[c] != "" {
			name = locomoCategories[c]
		}
		line(name, r.Categories[c], r.Baseline.Categories[c])
	}
	line("all", r.Share, r.Baseline.Share)
}
