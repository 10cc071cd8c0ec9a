package world

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Print writes the tables and the verdict.
func Print(to io.Writer, tables []Table, lines []Line) {
	for _, t := range tables {
		t.Print(to)
	}
	for _, l := range lines {
		status := "ok    "
		if !l.OK {
			status = "FAILED"
		}
		fmt.Fprintf(to, "%s %s: %s: %s\n", status, l.Kind, l.Says, l.Paired)
		if l.Reason != "" {
			fmt.Fprintf(to, "       %s\n", l.Reason)
		}
	}
}

// Print writes the measured rows and the promoted edits.
func (t Table) Print(to io.Writer) {
	folds := 0
	for _, f := range t.Folds {
		folds = len(f)
	}
	fmt.Fprintf(to, "%s, %d folds: store at most %.0f %% of the tokens, %d tokens read for a question\n\n", t.Kind,
		folds, 100*writeShare, readTokens)
	tw := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SKILLS\tANSWER WORDS\tEVIDENCE\tF1\tJUDGE\tSUCCESS\tAGAINST STATIC")
	for _, row := range Rows {
		measured, there := t.Folds[row]
		if !there {
			continue
		}
		var m Measure
		n := float64(len(measured))
		for _, f := range measured {
			m.Words, m.Evidence, m.F1, m.Judge = m.Words+f.Words/n, m.Evidence+f.Evidence/n, m.F1+f.F1/n,
				m.Judge+f.Judge/n
			if f.Success != nil {
				if m.Success == nil {
					m.Success = new(float64)
				}
				*m.Success += *f.Success / n
			}
		}
		against, judge, success := "", "", ""
		if len(t.Folds[Static]) > 0 {
			against = t.Compare(row, Static).String()
		}
		if m.Judge > 0 {
			judge = fmt.Sprintf("%.3f", m.Judge)
		}
		if m.Success != nil {
			success = fmt.Sprintf("%.3f", *m.Success)
		}
		fmt.Fprintf(tw, "%s\t%.3f\t%.3f\t%.3f\t%s\t%s\t%s\n", row, m.Words, m.Evidence, m.F1, judge, success, against)
	}
	_ = tw.Flush() // to is a terminal or a buffer
	seen := map[string]int{}
	for _, w := range t.Runs {
		for _, made := range w.Made {
			name := made
			if at := strings.LastIndex(made, " ("); at > 0 { // remove the gain, which differs between runs
				name = made[:at]
			}
			seen[name]++
		}
	}
	fmt.Fprintln(to)
	for _, made := range slices.Sorted(maps.Keys(seen)) {
		fmt.Fprintf(to, "promoted in %d of %d runs: %s\n", seen[made], len(t.Runs), made)
	}
	fmt.Fprintln(to)
}

func (p PairedDifference) String() string {
	if p.Interval < 0 {
		return fmt.Sprintf("%+.3f (one fold has no interval)", p.Mean)
	}
	return fmt.Sprintf("%+.3f ± %.3f", p.Mean, p.Interval)
}
