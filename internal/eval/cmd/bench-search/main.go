// Command bench-search measures skill search at several sizes of library
// against the same SQL run bare.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"cairn/internal/eval/command"
	"cairn/internal/eval/searchbench"
	"cairn/internal/eval/taubench"
)

func main() { command.Run("bench-search", run) }

func run(ctx context.Context) error {
	output := flag.String("o", "text", "text or json")
	seed := flag.Uint64("seed", 1, "of texts and questions")
	flag.Parse()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	lab, done, err := taubench.OpenLab(ctx, os.Stderr)
	if err != nil {
		return err
	}
	defer done()
	var rows []searchbench.Row
	for _, n := range []int{100, 1000, 10000} {
		row, err := searchbench.Measure(ctx, lab.Host, lab.Host.Config.DatabaseURL, n, *seed)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if err := command.Print(*output, rows, func(w io.Writer) error { return show(w, rows) }); err != nil {
		return err
	}
	for _, r := range rows {
		if r.RatioP50 > goal {
			return fmt.Errorf("%d skills: %.2f times the bare SQL, goal %.1f", r.Skills, r.RatioP50, goal)
		}
	}
	return nil
}

// goal is what the median may be of that of the same SQL run bare.
const goal = 1.3

func show(w io.Writer, rows []searchbench.Row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "skills\tours p50\tbare p50\tratio\tours p99\tbare p99\tratio\town skill first")
	for _, r := range rows {
		fmt.Fprintf(tw, "%d\t%.2f ms\t%.2f ms\t%.2f\t%.2f ms\t%.2f ms\t%.2f\t%.3f\n", r.Skills, r.OursP50, r.BareP50, r.RatioP50, r.OursP99, r.BareP99, r.RatioP99, r.FoundOwn)
	}
	return tw.Flush()
}
