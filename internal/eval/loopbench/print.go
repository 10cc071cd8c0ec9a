package loopbench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// Print writes the tables, and what must show beside what did.
func Print(to io.Writer, tables []Table, lines []Line) {
	for _, t := range tables {
		fmt.Fprintf(to, "%s, %d folds: store at most %.0f %% of the tokens, %d tokens read for a question\n\n", t.Kind, len(t.Folds[Static]), 100*writeShare, readTokens)
		tw := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "SKILLS\tANSWER WORDS\tEVIDENCE\tF1\tAGAINST STATIC")
		for _, row := range Rows {
			var m Measure
			n := float64(len(t.Folds[row]))
			for _, f := range t.Folds[row] {
				m.Words, m.Evidence, m.F1 = m.Words+f.Words/n, m.Evidence+f.Evidence/n, m.F1+f.F1/n
			}
			fmt.Fprintf(tw, "%s\t%.3f\t%.3f\t%.3f\t%s\n", row, m.Words, m.Evidence, m.F1, t.Compare(row, Static))
		}
		_ = tw.Flush() // to is a terminal or a buffer
		seen := map[string]int{}
		for _, w := range t.Went {
			for _, made := range w.Made {
				name, _, _ := strings.Cut(made, " (")
				seen[name]++
			}
		}
		fmt.Fprintln(to)
		for made, n := range seen {
			fmt.Fprintf(to, "promoted in %d of %d runs: %s\n", n, len(t.Went), made)
		}
		fmt.Fprintln(to)
	}
	for _, l := range lines {
		said := "ok    "
		if !l.OK {
			said = "FAILED"
		}
		fmt.Fprintf(to, "%s %s: %s: %s\n", said, l.Kind, l.Says, l.Paired)
		if l.Reason != "" {
			fmt.Fprintf(to, "       %s\n", l.Reason)
		}
	}
}

func (p Paired) String() string {
	if math.IsInf(p.Interval, 1) {
		return fmt.Sprintf("%+.3f (one fold has no interval)", p.Mean)
	}
	return fmt.Sprintf("%+.3f ± %.3f", p.Mean, p.Interval)
}
