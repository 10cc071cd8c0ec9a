package chaos

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"cairn/internal/lab/bench/ground"
)

// Print writes the counts as a table.
func (r Result) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "lost\t%d\t%d accepted runs, %d lessons in their skills\n", r.Lost.Sum(), r.Lost.Accepted,
		r.Lost.AllLessons)
	fmt.Fprintf(tw, "doubled skills, versions, packages\t%d\t%d skills, %d versions, %d packages; %d uploads wait "+
		"for collection\n", r.Doubled.Sum(),
		r.Doubled.AllSkills, r.Doubled.AllVersions, r.Doubled.AllPackages, r.Doubled.Waiting)
	fmt.Fprintf(tw, "keys paid twice although the reply was stored\t%d\t%d keys, %d requests\n", r.Calls.PaidTwice,
		r.Calls.Keys, r.Calls.Requests)
	fmt.Fprintf(tw, "sums of a day that differ from the ledger\t%d\t\n", r.Calls.Miscounted)
	fmt.Fprintf(tw, "keys in flight at a kill\t%d\tshown as unknown; the server wrote %d replies more than one a key\n",
		r.Calls.InFlight, r.Calls.Repaid)
	fmt.Fprintf(tw, "workflows stuck\t%d\t%d workflows\n", r.Stuck.Sum(), r.Stuck.Workflows)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	var crashes []string
	for _, c := range r.Crashes {
		crashes = append(crashes, fmt.Sprintf("%s at %.0f %% of the runs (down %s)", c.Server, 100*c.At,
			ground.Seconds(c.Took)))
	}
	fmt.Fprintf(w, "\nseed %d: worker killed %d times (%d unexpected exits), %s\n", r.Seed, r.Kills, r.Exits,
		strings.Join(crashes, ", "))
	fmt.Fprintf(w, "accepted in %s, faults for %s, drained in %s, total %s; a run took %s at the median, %s "+
		"at the 95th percentile, %s at most\n",
		ground.Seconds(r.Accepted), ground.Seconds(r.Troubled), ground.Seconds(r.Drained), ground.Seconds(r.Total),
		ground.Seconds(r.Runs.Median), ground.Seconds(r.Runs.P95), ground.Seconds(r.Runs.Most))
	ground.PrintFindings(w, append(r.Refused, r.Findings...))
	return nil
}
