package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/lab/bench/speed"
	"cairn/internal/lab/bench/taubench"
)

// searchGoal is the maximum ratio of the median to that of the same SQL without Cairn.
const searchGoal = 1.3

func (p *program) search() *cobra.Command {
	var sizes []int
	var seed uint64
	cmd := p.benchmark(&cobra.Command{
		Use: "search", Short: "Measure skill search by library size, compared with the same SQL",
		Example: "  cairn-bench search --sizes 100",
	}, func(ctx context.Context) error {
		for _, n := range sizes {
			if n < 1 {
				return cli.UsageError(fmt.Errorf("invalid --sizes %d: must be at least 1", n))
			}
		}
		return p.runSearch(ctx, sizes, seed)
	})
	cmd.Flags().
		IntSliceVar(&sizes, "sizes", []int{100, 1000, 10000}, "numbers of skills in the library, comma separated")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "random seed of texts and questions")
	return cmd
}

func (p *program) runSearch(ctx context.Context, sizes []int, seed uint64) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	lab, done, err := taubench.OpenLab(ctx, p.errs, false)
	if err != nil {
		return err
	}
	defer done()
	var rows []speed.SearchRow
	var slow []error
	for _, n := range sizes {
		row, err := speed.MeasureSearch(ctx, lab.App, lab.App.Config.DatabaseURL, n, seed)
		if err != nil {
			return err
		}
		if rows = append(rows, row); row.RatioP50 > searchGoal {
			slow = append(slow, fmt.Errorf("%d skills: %.2f times the bare SQL, goal %.1f", n, row.RatioP50,
				searchGoal))
		}
	}
	shown := p.measured(rows, func(w io.Writer) error { return printSearches(w, rows) })
	return errors.Join(shown, missed(errors.Join(slow...)))
}

func printSearches(w io.Writer, rows []speed.SearchRow) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "skills\tours p50\tbare p50\tratio\tours p99\tbare p99\tratio\town skill first")
	for _, r := range rows {
		fmt.Fprintf(tw, "%d\t%.2f ms\t%.2f ms\t%.2f\t%.2f ms\t%.2f ms\t%.2f\t%.3f\n", r.Skills, r.OursP50, r.BareP50,
			r.RatioP50, r.OursP99, r.BareP99, r.RatioP99, r.FoundOwn)
	}
	return tw.Flush()
}
