package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"cairn/internal/service/evaluation"
)

// printEvaluation prints the table of an evaluation, its categories and its trainings.
func printEvaluation(out io.Writer, r evaluation.Result) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	const usage = "CALLS\tTOKENS IN\tTOKENS OUT\tCOST\tSECONDS"
	fmt.Fprintln(tw, "ROW\tF1\tEM\tL-J\tEVIDENCE\tF1-STATIC (95 %)\tMEMORIES\t"+usage)
	for _, row := range r.Rows {
		difference := ""
		if row.Versus != nil {
			difference = row.Versus.String()
		}
		all := row.Build.Plus(row.Usage)
		fmt.Fprintf(tw, "%s\t%.3f\t%.3f\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%.1f\n", row.Name, row.F1, row.Exact,
			evaluation.Maybe(row.Judge, "%.1f"), evaluation.Maybe(row.Evidence, "%.3f"), difference, row.Memories,
			all.Calls, all.Input, all.Output, all.Cost(), row.BuildSeconds+row.Seconds)
	}
	fmt.Fprintln(tw, "\t\nROW\tCATEGORY\tQUESTIONS\tF1\tEM\tL-J\tEVIDENCE\t"+usage)
	for _, row := range r.Rows {
		for _, s := range row.Categories {
			fmt.Fprintf(tw, "%s\t%s\t%d\t%.3f\t%.3f\t%s\t%s\t%d\t%d\t%d\t%s\t%.1f\n", row.Name, s.Name, s.Questions,
				s.F1, s.Exact, evaluation.Maybe(s.Judge, "%.1f"), evaluation.Maybe(s.Evidence, "%.3f"), s.Usage.Calls,
				s.Usage.Input, s.Usage.Output, s.Usage.Cost(), s.Seconds)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, l := range r.Learned {
		fmt.Fprintf(out, "training of %s: %d iterations, best reward %.3f, %d skills, %d calls, cost %s\n", l.Row,
			l.Iterations, l.Best, l.Skills, l.Usage.Calls, l.Usage.Cost())
		for _, d := range l.Changes {
			fmt.Fprintf(out, "  %s %s\n", d.Kind, d.Name)
		}
	}
	if len(r.FixedSet) > 0 {
		fmt.Fprintf(out, "best fixed set: %s\n", strings.Join(r.FixedSet, ", "))
	}
	if rest := r.Rest(); rest.Calls > 0 {
		fmt.Fprintf(
			out,
			"not in the rows and trainings: %d calls, cost %s, of the selection of the best fixed set and "+
				"of incomplete units\n",
			rest.Calls,
			rest.Cost(),
		)
	}
	for _, row := range r.Rows {
		if row.Invalid+row.Lost+row.FailedSpans > 0 {
			fmt.Fprintf(out, "%s: %d invalid answers (scored 0), %d questions lost to the endpoint (not scored), "+
				"%d of %d spans failed\n", row.Name, row.Invalid, row.Lost, row.FailedSpans, row.Spans)
		}
	}
	fmt.Fprintf(out, "%d calls, %d tokens in, %d tokens out, cost %s, %.0f s; %d test conversations\n", r.Usage.Calls,
		r.Usage.Input, r.Usage.Output, r.Usage.Cost(), r.Seconds, len(r.Manifest.Split.Test))
	if lacks := r.Incomplete(); lacks != "" {
		fmt.Fprintln(out, "incomplete: "+lacks)
	}
	if isOffline(r) {
		fmt.Fprintln(out, "offline rules: the figures show that all steps work, and nothing about language models")
	}
	return nil
}
