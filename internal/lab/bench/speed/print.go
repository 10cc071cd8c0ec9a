package speed

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Print writes the measurements as a table.
func (r AddResult) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "work\tmodel\tcallers\tp50\tp99\tper second\tfailed\trefused\tmodel calls\tCPU\t÷ bare\tgateway\t"+
		"worker\tPostgres\tTemporal\tbytes\tWAL\tevents\thistory")
	for _, c := range r.Cells {
		cpu, ratio := c.total(), ""
		if bare := r.bare(c.Callers); bare != nil && c.Kind == Fast {
			ratio = fmt.Sprintf("%.2f", float64(cpu)/float64(bare.total()))
		}
		fmt.Fprintf(
			tw,
			"%s\t%s\t%d\t%s\t%s\t%.1f\t%d\t%d\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f kB\t%.1f kB\t%d\t%.1f kB\n",
			c.Kind,
			c.Model,
			c.Callers,
			ms(c.Median),
			ms(c.P99),
			c.PerSecond,
			c.Failed,
			c.Refused,
			c.Calls,
			ms(cpu),
			ratio,
			ms(c.CPU.Gateway),
			ms(c.CPU.Worker),
			ms(c.CPU.Postgres),
			ms(c.CPU.Temporal),
			kilo(c.Left.Bytes()),
			kilo(c.Left.WAL),
			c.Events,
			kilo(c.History),
		)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the measurements: %w", err)
	}
	if c := r.find(Fast, 0, 1); c != nil {
		return c.Left.Print(w, "add")
	}
	return nil
}

// total is the processor time of all processes of the work.
func (c *AddCell) total() time.Duration {
	if c.Kind == Fast {
		return c.CPU.All()
	}
	return c.CPU.Bare()
}

func (r AddResult) bare(callers int) *AddCell { return r.find(Bare, 0, callers) }

func (r AddResult) find(kind string, model time.Duration, callers int) *AddCell {
	for _, c := range r.Cells {
		if c.Kind == kind && c.Model == model && c.Callers == callers {
			return c
		}
	}
	return nil
}

// Missed returns the missed goals, one per line, or nil. Goals of loads that were not measured are left out.
func (r AddResult) Missed() error {
	var missed []error
	miss := func(format string, args ...any) { missed = append(missed, fmt.Errorf("missed: "+format, args...)) }
	for _, c := range r.Cells {
		if c.Kind == Fast && c.Callers == 1 && (c.Calls != 1 || c.Failed > 0) {
			miss(
				"%.2f model calls per add and %d failures, model %s, %d callers",
				c.Calls,
				c.Failed,
				c.Model,
				c.Callers,
			)
		}
	}
	if c := r.find(Fast, slowModel, 1); c != nil && float64(c.Median) > GoalLatency*float64(slowModel) {
		miss("p50 is %s, the goal is %.2f × %s", ms(c.Median), GoalLatency, slowModel)
	}
	if c := r.find(Fast, 0, 1); c != nil {
		if c.total() > GoalCPU {
			miss("%s of processor time per add, the goal is %s", ms(c.total()), GoalCPU)
		}
		if bare := r.bare(1); bare != nil && float64(c.total()) > GoalRatio*float64(bare.total()) {
			miss("%.2f × the processor time of a bare workflow, the goal is %.1f",
				float64(c.total())/float64(bare.total()), GoalRatio)
		}
		if n := c.Left.Bytes(); n > GoalBytes {
			miss("%d bytes in Postgres per add, the goal is %d", n, GoalBytes)
		}
	}
	if c := r.find(Fast, usualModel, usualCallers); c != nil && (c.PerSecond < GoalRate || c.Failed > 0) {
		miss("%.1f adds per second and %d failures with %d callers, the goal is %.0f", c.PerSecond, c.Failed,
			c.Callers, GoalRate)
	}
	for _, c := range r.Cells {
		if c.Kind == Fast && c.Callers >= 64 && (c.P99 > GoalSlowest && c.Refused == 0 || c.Failed > 0) {
			miss(
				"p99 is %s and %d failures with %d callers, the goal is %s",
				ms(c.P99),
				c.Failed,
				c.Callers,
				GoalSlowest,
			)
		}
	}
	return errors.Join(missed...)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }

func kilo(bytes int64) float64 { return float64(bytes) / 1000 }
