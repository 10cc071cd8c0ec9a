package speed

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// PrintDistillations writes the measurements as tables.
func PrintDistillations(w io.Writer, all []Measurement) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "Temporal\tthree tasks, median\tmin\tmax\t÷ critical path\tmin\tmax\tgoal\tempty workflow "+
		"÷\tdistillations/s\tempty workflows/s\tratio\tworker CPU each")
	for _, m := range all {
		l, t := m.Latency, m.Throughput
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t≤ %.2f\t%.3f\t", m.Server,
			distillMs(l.Median), distillMs(l.Least), distillMs(l.Most),
			l.Ratio(l.Median), l.Ratio(l.Least), l.Ratio(l.Most), Goal(m.Server), l.Ratio(l.Floor))
		fmt.Fprintf(tw, "%.1f\t%.1f\t%.2f\t%s\n",
			t.PerSecond, t.Baseline, t.PerSecond/t.Baseline, distillMs(t.WorkerCPU))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the measurements: %w", err)
	}
	for _, m := range all {
		fmt.Fprintf(w, "\nsteps of the median run, Temporal in %s (%d runs after warm-up; "+
			"load: %d distillations, %d at once, %d workspaces)\n",
			m.Server, m.Latency.Runs, m.Throughput.Distillations, m.Throughput.AtOnce, m.Throughput.Workspaces)
		if err := printSteps(w, m.Latency.Steps, m.Latency.Median); err != nil {
			return err
		}
		if len(m.Latency.Slowest) == 0 {
			continue
		}
		fmt.Fprintln(w, "\nsteps of the slowest run")
		if err := printSteps(w, m.Latency.Slowest, m.Latency.Most); err != nil {
			return err
		}
	}
	return nil
}

// DistillMissed returns an error for each server whose median missed the goal, or nil.
func DistillMissed(all []Measurement) error {
	var missed []error
	for _, m := range all {
		if ratio := m.Latency.Ratio(m.Latency.Median); ratio > Goal(m.Server) {
			missed = append(missed, fmt.Errorf("missed: %.3f × the critical path with Temporal in %s, the goal is %.2f",
				ratio, m.Server, Goal(m.Server)))
		}
	}
	return errors.Join(missed...)
}

func printSteps(w io.Writer, steps []Step, took time.Duration) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "step\tworkflow's turn\tin the queue\twork\twithout the model\t")
	var sum Step
	for _, s := range steps {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t\n", s.Name, distillMs(s.Decide), distillMs(s.Queue),
			distillMs(s.Work-s.Model), distillMs(s.Own()))
		sum.Decide, sum.Queue, sum.Work, sum.Model = sum.Decide+s.Decide, sum.Queue+s.Queue, sum.Work+s.Work,
			sum.Model+s.Model
	}
	fmt.Fprintf(tw, "accept, start, answer\t\t\t\t%s\t\n", distillMs(took-sum.Model-sum.Own()))
	fmt.Fprintf(tw, "all\t%s\t%s\t%s\t%s\t\n", distillMs(sum.Decide), distillMs(sum.Queue),
		distillMs(sum.Work-sum.Model),
		distillMs(took-sum.Model))
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the steps: %w", err)
	}
	return nil
}

func distillMs(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
