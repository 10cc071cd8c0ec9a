package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/lab/bench/httpsearch"
	"cairn/internal/lab/tempcairn"
)

// httpSearchOptions configures the measurement of searches over HTTP.
type httpSearchOptions struct {
	sizes         []int
	vocabularies  []string
	wordsOnly     bool
	subject, mem0 int
	seed          uint64
}

func (p *program) httpSearch() *cobra.Command {
	var o httpSearchOptions
	cmd := p.benchmark(&cobra.Command{
		Use: "http-search", Short: "Search over HTTP: exact questions, and small subjects in large workspaces",
		Example: "  cairn-bench http-search --sizes 1000 --subject 0 --mem0 0\n" +
			"  cairn-bench http-search --sizes 1000000 --vocabulary z --words --subject 1000000 --mem0 0",
	}, func(ctx context.Context) error {
		for _, n := range append(slices.Clone(o.sizes), o.subject, o.mem0) {
			if n < 0 || n > 0 && n < 100 {
				return cli.UsageError(fmt.Errorf("invalid size %d: use 0 or at least 100", n))
			}
		}
		return p.runHTTPSearch(ctx, o)
	})
	flags := cmd.Flags()
	flags.IntSliceVar(
		&o.sizes,
		"sizes",
		[]int{1000, 3000, 20_000, 100_000},
		"rows of the exact questions, comma separated",
	)
	flags.StringSliceVar(&o.vocabularies, "vocabulary", []string{"s", "z"}, "vocabularies of the rows: s, z")
	flags.BoolVar(&o.wordsOnly, "words", false, "store and compare no vectors")
	flags.IntVar(
		&o.subject,
		"subject",
		0,
		"rows of a workspace with a subject of 100 rows; 0 means no such measurement",
	)
	flags.IntVar(&o.mem0, "mem0", 10_000, "rows of 100 users written over mem0's route; 0 means no such measurement")
	flags.Uint64Var(&o.seed, "seed", 1, "random seed of the rows")
	return cmd
}

func (p *program) runHTTPSearch(ctx context.Context, o httpSearchOptions) error {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	h, done, err := tempcairn.OpenDatabase(ctx, tempcairn.Options{Buffers: "2GB"}, p.errs)
	if err != nil {
		return err
	}
	defer done()
	b := httpsearch.Open(h, o.wordsOnly, func(format string, args ...any) { fmt.Fprintf(p.errs, format+"\n", args...) })
	defer b.Close()
	var rows []httpsearch.Row
	if len(o.sizes) > 0 {
		if rows, err = b.Needles(ctx, o.sizes, o.vocabularies, o.seed); err != nil {
			return err
		}
	}
	if o.subject > 0 {
		subject, err := b.Subject(ctx, o.subject, o.seed)
		if err != nil {
			return err
		}
		rows = append(rows, subject...)
	}
	if o.mem0 > 0 {
		row, err := b.Mem0(ctx, o.mem0, 100, o.seed)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	var failed []error
	for _, r := range rows {
		if why := r.Missed(); why != "" {
			failed = append(failed, errors.New(why))
		}
	}
	shown := p.measured(rows, func(w io.Writer) error { return printHTTPSearches(w, rows) })
	return errors.Join(shown, missed(errors.Join(failed...)))
}

func printHTTPSearches(w io.Writer, rows []httpsearch.Row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "measured\trows\tquestions\trank 1\tp50\tp99\tgoal p50")
	for _, r := range rows {
		goal := ""
		if r.Goal > 0 {
			goal = fmt.Sprintf("%.0f ms", r.Goal)
		}
		fmt.Fprintf(
			tw,
			"%s\t%d\t%d\t%.3f\t%.1f ms\t%.1f ms\t%s\n",
			r.Name,
			r.Rows,
			r.Questions,
			r.First,
			r.P50,
			r.P99,
			goal,
		)
	}
	return tw.Flush()
}
