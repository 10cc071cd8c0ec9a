package soak

import (
	"fmt"
	"io"
	"text/tabwriter"

	"cairn/internal/lab/bench/ground"
)

// Print writes the counts with their goals as a table.
func (r Result) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\tcounted\tgoal\t")
	fmt.Fprintf(tw, "turns lost\t%d\t0\tof %d\n", r.Lost.Turns, r.Options.Conversations*r.Options.Turns)
	fmt.Fprintf(tw, "turns doubled\t%d\t0\t%d turns, %d transcripts with gaps or out of order\n", r.Doubled.Sum(),
		r.Doubled.AllTurns, r.Doubled.Transcripts)
	fmt.Fprintf(tw, "memories doubled\t%d\t0\t%d memories\n", r.Doubled.Memories, r.Doubled.AllMemories)
	fmt.Fprintf(tw, "memories lost\t%d\t0\t\n", r.Lost.Memories)
	fmt.Fprintf(tw, "keys paid twice although the reply was stored\t%d\t0\t%d keys, %d requests\n", r.Calls.PaidTwice,
		r.Calls.Keys, r.Calls.Requests)
	fmt.Fprintf(tw, "sums of a day that differ from the ledger\t%d\t0\t\n", r.Calls.Miscounted)
	fmt.Fprintf(tw, "keys in flight at a kill\t%d\t\tshown as unknown; the server wrote %d replies more than one a "+
		"key\n", r.Calls.InFlight, r.Calls.Repaid)
	fmt.Fprintf(tw, "reviews not as expected\t%d\t0\t%d due; %d missing, %d extra, %d failed, %d "+
		"conversations with wrong counters\n", r.Reviews.Sum(), r.Reviews.Wanted,
		r.Reviews.Missing, r.Reviews.Extra, r.Reviews.Astray, r.Reviews.Counters)
	fmt.Fprintf(tw, "workflows stuck\t%d\t0\t%d workflows\n", r.Stuck.Sum(), r.Stuck.Workflows)
	fmt.Fprintf(tw, "time\t%s\t\twith the start of the servers\n", ground.Seconds(r.Total))
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	fmt.Fprintf(w, "\nseed %d: %d conversations of %d turns, worker killed %d times (%d unexpected exits)\n", r.Seed,
		r.Options.Conversations, r.Options.Turns, r.Kills, r.Exits)
	fmt.Fprintf(w, "replies in %s, drained in %s; a reply took %s at the median, %s at the 95th percentile, %s "+
		"at most\n",
		ground.Seconds(r.Answered), ground.Seconds(r.Drained), ground.Seconds(r.Answers.Median),
		ground.Seconds(r.Answers.P95), ground.Seconds(r.Answers.Most))
	ground.PrintFindings(w, append(r.Refused, r.Findings...))
	return nil
}
