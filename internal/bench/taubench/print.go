package taubench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"cairn/internal/domain/run"
)

// Print writes the result as a table.
func (r Result) Print(w io.Writer, atOnce int) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "conversations\t%d, %d at once\n", r.Conversations, atOnce)
	fmt.Fprintf(tw, "errors\t%d\n", len(r.Errors))
	fmt.Fprintf(tw, "runs\t%d completed, %d with nothing to extract, %d gated, %d partial, %d failed\n",
		r.Runs[run.Completed], r.Runs[run.NothingToExtract], r.Runs[run.Gated],
		r.Runs[run.CompletedPartial], r.Runs[run.Failed])
	fmt.Fprintf(tw, "tasks\t%d: %d created a skill, %d updated one, %d skipped, %d failed\n", r.Tasks, r.Created,
		r.Updated, r.Skipped, r.Failed)
	fmt.Fprintf(tw, "skills\t%d\n", len(r.Skills))
	for _, s := range r.Skills {
		fmt.Fprintf(tw, "\t%s: %d versions from %d conversations\n", s.Name, s.Versions, s.Sources)
	}
	fmt.Fprintf(tw, "leaks of personal data\t%d\n", len(r.Leaks))
	for _, l := range r.Leaks {
		fmt.Fprintf(tw, "\t%s in %s: %s\n", l.Kind, l.Skill, l.Value)
	}
	for _, e := range r.Errors {
		fmt.Fprintf(tw, "\terror: %s\n", e)
	}
	fmt.Fprintf(tw, "time\t%.1f s, %.2f s a conversation\n", r.Seconds, r.Seconds/float64(max(r.Conversations, 1)))
	fmt.Fprintf(tw, "peak memory\t%.0f MiB, command and worker in one process\n", r.PeakMiB)
	_ = tw.Flush()
}
