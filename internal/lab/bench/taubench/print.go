package taubench

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"cairn/internal/domain/run"
)

// Print writes the result as a table.
func (r Result) Print(w io.Writer, atOnce int, rewards bool) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "conversations\t%d, %d at once\n", r.Conversations, atOnce)
	fmt.Fprintf(tw, "errors\t%d\n", len(r.Errors))
	fmt.Fprintf(tw, "runs\t%d completed, %d with nothing to extract, %d gated, %d partial, %d failed\n",
		r.Runs[run.Completed], r.Runs[run.NothingToExtract], r.Runs[run.Gated],
		r.Runs[run.CompletedPartial], r.Runs[run.Failed])
	fmt.Fprintf(tw, "tasks\t%d: %d created a skill, %d updated one, %d wait, %d skipped, %d failed\n", r.Tasks,
		r.Created, r.Updated, r.Staged, r.Skipped, r.Failed)
	for _, check := range slices.Sorted(maps.Keys(r.Waiting)) {
		fmt.Fprintf(tw, "\t%d findings of the check %s wait\n", r.Waiting[check], check)
	}
	fmt.Fprintf(tw, "skills\t%d\n", len(r.Skills))
	for _, s := range r.Skills {
		fmt.Fprintf(tw, "\t%s: %s, %d versions from %d conversations, %d of them failed, %d show success\n", s.Name,
			s.Status, s.Versions, s.Sources, s.Failed, s.Observed)
	}
	broken, active, fromFailed := r.Promise(rewards)
	fmt.Fprintf(tw, "active skills\t%d, of them %d also from failed conversations\n", active, fromFailed)
	fmt.Fprintf(tw, "active skills without a success\t%d %s\n", len(broken), strings.Join(broken, ", "))
	fmt.Fprintf(tw, "invented tools\t%d\n", r.Invented())
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

// Invented returns the number of tools that skills name and no conversation has called.
func (r Result) Invented() (n int) {
	for _, s := range r.Skills {
		n += len(s.Invented)
	}
	return n
}

// Write writes the last versions of the skills to a folder.
func (r Result) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("create the folder for skills: %w", err)
	}
	for _, s := range r.Skills {
		if err := os.WriteFile(filepath.Join(folder, s.Name+".md"), []byte(s.Text), 0o644); err != nil {
			return fmt.Errorf("write a skill: %w", err)
		}
	}
	return nil
}
