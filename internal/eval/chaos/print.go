package chaos

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// mostFindings is how many findings Print shows.
const mostFindings = 40

// Print writes the counts for people.
func (r Result) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "lost\t%d\t%d accepted runs, %d lessons in their skills\n", r.Lost.Sum(), r.Lost.Accepted, r.Lost.AllLessons)
	fmt.Fprintf(tw, "doubled skills, versions, packages\t%d\t%d skills, %d versions, %d packages; %d uploads wait for collection\n", r.Doubled.Sum(),
		r.Doubled.AllSkills, r.Doubled.AllVersions, r.Doubled.AllPackages, r.Doubled.Waiting)
	fmt.Fprintf(tw, "keys paid twice although the reply was stored\t%d\t%d keys, %d requests\n", r.Calls.PaidTwice, r.Calls.Keys, r.Calls.Requests)
	fmt.Fprintf(tw, "keys in flight at a kill\t%d\tshown as unknown; the server wrote %d replies more than one a key\n", r.Calls.InFlight, r.Calls.Repaid)
	fmt.Fprintf(tw, "workflows stuck\t%d\t%d workflows\n", r.Stuck.Sum(), r.Stuck.Workflows)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	var crashes []string
	for _, c := range r.Crashes {
		crashes = append(crashes, fmt.Sprintf("%s at %.0f %% of the runs (down %s)", c.Server, 100*c.At, seconds(c.Took)))
	}
	fmt.Fprintf(w, "\nseed %d: worker killed %d times (%d exits of its own), %s\n", r.Seed, r.Kills, r.Exits, strings.Join(crashes, ", "))
	fmt.Fprintf(w, "accepted in %s, troubled for %s, drained in %s, all in all %s; a run took %s at the median, %s at the 95th percentile, %s at most\n",
		seconds(r.Accepted), seconds(r.Troubled), seconds(r.Drained), seconds(r.Total), seconds(r.Runs.Median), seconds(r.Runs.P95), seconds(r.Runs.Most))
	for i, f := range append(r.Refused, r.Findings...) {
		if i == mostFindings {
			fmt.Fprintln(w, "…")
			break
		}
		fmt.Fprintln(w, "found:", f)
	}
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// keepLog keeps the worker's last words where the folder's end does not reach.
func (e *experiment) keepLog(r *Result) {
	const lastWords = 64 << 10
	raw, err := os.ReadFile(e.workerLog.Name())
	if err != nil {
		return
	}
	kept, err := os.CreateTemp("", "cairn-chaos-worker-*.log")
	if err != nil {
		return
	}
	defer kept.Close()
	if _, err := kept.Write(raw[max(0, len(raw)-lastWords):]); err == nil {
		r.Findings = append(r.Findings, "the worker's log is kept in "+kept.Name())
	}
}
