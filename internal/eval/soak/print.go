package soak

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

// mostFindings is how many findings Print shows.
const mostFindings = 40

// Print writes the counts for people, each beside its goal.
func (r Result) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\tcounted\tgoal\t")
	fmt.Fprintf(tw, "turns lost\t%d\t0\tof %d\n", r.Lost.Turns, r.Options.Conversations*r.Options.Turns)
	fmt.Fprintf(tw, "turns doubled\t%d\t0\t%d turns, %d transcripts with gaps or out of order\n", r.Doubled.Sum(), r.Doubled.AllTurns, r.Doubled.Transcripts)
	fmt.Fprintf(tw, "memories doubled\t%d\t0\t%d memories\n", r.Doubled.Memories, r.Doubled.AllMemories)
	fmt.Fprintf(tw, "memories lost\t%d\t0\t\n", r.Lost.Memories)
	fmt.Fprintf(tw, "keys paid twice although the reply was stored\t%d\t0\t%d keys, %d requests\n", r.Calls.PaidTwice, r.Calls.Keys, r.Calls.Requests)
	fmt.Fprintf(tw, "keys in flight at a kill\t%d\t\tshown as unknown; the server wrote %d replies more than one a key\n", r.Calls.InFlight, r.Calls.Repaid)
	fmt.Fprintf(tw, "reviews elsewhere than due\t%d\t0\t%d due; %d missing, %d too many, %d astray, %d conversations count wrong\n", r.Reviews.Sum(), r.Reviews.Wanted,
		r.Reviews.Missing, r.Reviews.Extra, r.Reviews.Astray, r.Reviews.Counters)
	fmt.Fprintf(tw, "workflows stuck\t%d\t0\t%d workflows\n", r.Stuck.Sum(), r.Stuck.Workflows)
	fmt.Fprintf(tw, "time\t%s\t≤ %s\t\n", seconds(r.Total), seconds(r.Options.Goal))
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	fmt.Fprintf(w, "\nseed %d: %d conversations of %d turns, worker killed %d times (%d exits of its own)\n", r.Seed, r.Options.Conversations, r.Options.Turns, r.Kills, r.Exits)
	fmt.Fprintf(w, "answered in %s, drained in %s; an answer took %s at the median, %s at the 95th percentile, %s at most\n",
		seconds(r.Answered), seconds(r.Drained), seconds(r.Answers.Median), seconds(r.Answers.P95), seconds(r.Answers.Most))
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
	if err != nil || len(raw) == 0 {
		return
	}
	kept, err := os.CreateTemp("", "cairn-soak-worker-*.log")
	if err != nil {
		return
	}
	defer kept.Close()
	if _, err := kept.Write(raw[max(0, len(raw)-lastWords):]); err == nil {
		r.Findings = append(r.Findings, "the worker's log is kept in "+kept.Name())
	}
}
