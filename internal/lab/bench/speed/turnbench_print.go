package speed

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Print writes the measurements with their goals as tables.
func (r Result) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "at once\tmodel calls\toverhead p50\tp99\t÷ bare p50\tgoal\t\t÷ bare "+
		"p99\tevents\tgoal\tturns/s\tworker CPU\tturns")
	var bare Cell
	for _, c := range r.Cells {
		if c.Calls == 0 {
			bare = c
			fmt.Fprintf(tw, "%d\tbare\t%s\t%s\t\t\t\t\t%s\t\t%.1f\t\t%d\n", c.AtOnce, turnMs(c.Median), turnMs(c.P99),
				c.events(), c.PerSecond, c.Turns)
			continue
		}
		ratio := c.Ratio(bare)
		most, limit, held := "", "", ""
		if goal, found := TurnGoal(c.AtOnce, c.Calls); found {
			limit, held = fmt.Sprintf("≤ %.2f", goal), verdict(ratio <= goal)
		}
		if c.Events > 0 {
			most = fmt.Sprintf("≤ %d", EventGoal(c.Calls))
		}
		fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%.2f\t%s\t%s\t%.2f\t%s\t%s\t%.1f\t%s\t%d\n", c.AtOnce, c.Calls,
			turnMs(c.Median), turnMs(c.P99), ratio, limit, held,
			float64(c.P99)/float64(bare.P99), c.events(), most, c.PerSecond, turnMs(c.CPU), c.Turns)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the measurements: %w", err)
	}
	fmt.Fprintf(w, "\nmean time by part (model %s per call; total %.0f s)\n", r.Reply, r.Took.Seconds())
	tw = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "at once\tmodel calls\taccept\treply, without the model\tmodel")
	for _, c := range r.Cells {
		if p := c.Parts; c.Calls > 0 {
			fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%s\n", c.AtOnce, c.Calls, turnMs(p.Accept), turnMs(p.Answer-p.Model),
				turnMs(p.Model))
		}
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the parts: %w", err)
	}
	return nil
}

// Missed returns the missed goals, one per line, or nil.
func (r Result) Missed() error {
	var bare Cell
	var missed []error
	for _, c := range r.Cells {
		if c.Calls == 0 {
			bare = c
			continue
		}
		ratio := c.Ratio(bare)
		if goal, found := TurnGoal(c.AtOnce, c.Calls); found && ratio > goal {
			missed = append(missed, fmt.Errorf("missed: %.2f × a bare turn for %d calls at %d, the goal is %.2f", ratio,
				c.Calls, c.AtOnce, goal))
		}
		if c.Events > EventGoal(c.Calls) {
			missed = append(missed, fmt.Errorf("missed: %d events for %d calls, the goal is %d", c.Events, c.Calls,
				EventGoal(c.Calls)))
		}
	}
	return errors.Join(missed...)
}

// Ratio is the median overhead divided by that of the bare turn.
func (c Cell) Ratio(bare Cell) float64 { return float64(c.Median) / float64(bare.Median) }

func verdict(held bool) string {
	if held {
		return "held"
	}
	return "missed"
}

func (c Cell) events() string {
	if c.Events == 0 {
		return ""
	}
	if c.MostEvents > c.Events {
		return fmt.Sprintf("%d, once %d", c.Events, c.MostEvents)
	}
	return fmt.Sprint(c.Events)
}

func turnMs(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
