package distillbench

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Print writes the measurements as tables.
func Print(w io.Writer, all []Measurement) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "Temporal\tthree tasks, median\tmin\tmax\t÷ critical path\tmin\tmax\tgoal\tempty workflow "+
		"÷\tdistillations/s\tempty workflows/s\tratio\tworker CPU each")
	for _, m := range all {
		l, t := m.Latency, m.Throughput
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t≤ %.2f\t%.3f\t", m.Server,
			ms(l.Median), ms(l.Least), ms(l.Most),
			l.Ratio(l.Median), l.Ratio(l.Least), l.Ratio(l.Most), Goal(m.Server), l.Ratio(l.Floor))
		fmt.Fprintf(tw, "%.1f\t%.1f\t%.2f\t%s\n",
			t.PerSecond, t.Baseline, t.PerSecond/t.Baseline, ms(t.WorkerCPU))
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

// Missed returns an error for each server whose median missed the goal, or nil.
func Missed(all []Measurement) error {
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
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t\n", s.Name, ms(s.Decide), ms(s.Queue), ms(s.Work-s.Model), ms(s.Own()))
		sum.Decide, sum.Queue, sum.Work, sum.Model = sum.Decide+s.Decide, sum.Queue+s.Queue, sum.Work+s.Work,
			sum.Model+s.Model
	}
	fmt.Fprintf(tw, "accept, start, answer\t\t\t\t%s\t\n", ms(took-sum.Model-sum.Own()))
	fmt.Fprintf(tw, "all\t%s\t%s\t%s\t%s\t\n", ms(sum.Decide), ms(sum.Queue), ms(sum.Work-sum.Model),
		ms(took-sum.Model))
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the steps: %w", err)
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
