package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/app/lab"
	"cairn/internal/app/samples"
	"cairn/internal/service/evaluation/locomo"
	"cairn/internal/service/evaluation/retrieval"
)

// evalCommand groups the measurements on public data sets. They use a temporary database.
func (c *cli) evalCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "eval", Short: "Measure retrieval and learning on public data sets",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(append(c.skillsEvals(), c.evalRetrieval(), c.evalProfiles())...)
	return cmd
}

func (c *cli) evalRetrieval() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "retrieval", Short: "Measure retrieval recall on LoCoMo",
		Long: "Measure how many evidence turns of LoCoMo a search finds, compared with BM25. The command needs no " +
			"model and no network.",
		Example: "  cairn eval retrieval --data locomo10.json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.runEvalRetrieval(cmd.Context(), data) },
	}
	cmd.Flags().StringVar(&data, "data", "",
		"file in the format of snap-research/locomo (default locomo/locomo8.json in $CAIRN_DATA, else in "+
			"../shared/data)")
	return cmd
}

func (c *cli) runEvalRetrieval(ctx context.Context, data string) error {
	if data == "" {
		if data = samples.Public("locomo/locomo8.json"); data == "" {
			return usageError{fmt.Errorf("no LoCoMo file found: pass one with --data")}
		}
	}
	talks, err := locomo.Open(data)
	if err != nil {
		return err
	}
	h, done, err := lab.OpenDatabase(ctx, lab.Options{}, c.errs)
	if err != nil {
		return err
	}
	defer done()
	fmt.Fprintf(c.errs, "measuring %d conversations of %s with %s, %d dimensions\n", len(talks), data,
		h.Embedder.Model(), h.Embedder.Dims())
	r, err := retrieval.Measure(ctx, h.Retrieval(), talks)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(r)
	}
	return printRetrieval(c.out, r)
}

func printRetrieval(out io.Writer, r retrieval.Result) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "CATEGORY\tQUESTIONS\tRECALL@5\tRECALL@10\tRECALL@20\tBM25@5\tBM25@10\tBM25@20")
	line := func(name string, ours, base retrieval.Recall) {
		fmt.Fprintf(tw, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\n", name, ours.Questions, ours.At5, ours.At10,
			ours.At20, base.At5, base.At10, base.At20)
	}
	for i, name := range []string{"multi-hop", "temporal", "open", "single-hop"} {
		line(fmt.Sprintf("%d %s", i+1, name), r.Categories[i+1], r.Baseline.Categories[i+1])
	}
	line("all", r.Recall, r.Baseline.Recall)
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d turns, stored at %.0f per second; search p50 %.1f ms, p99 %.1f ms; %d "+
		"questions without evidence turns skipped\n",
		r.Turns, r.TurnsPerSec, r.P50, r.P99, r.Skipped)
	return err
}
