package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	domainreflection "cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/service/reflection"
	"cairn/internal/store"
)

// reflectRuns returns the commands that start reflections and show their results.
func (c *cli) reflectRuns() []*cobra.Command {
	var r reflection.DateRequest
	var wait bool
	now := &cobra.Command{Use: "now", Short: "Reflect on one day now",
		Long: "Reflect on a local date of the workspace: read its conversations and save notes, memories and " +
			"skills. For today, the messages so far are read, and the rest after the end of the day. A completed " +
			"date is not read again unless you add --redo, and a failed date is repeated. The command ignores " +
			"quiet hours. It fails if the setting reflection is off.",
		Example: "  cairn reflect now --wait\n  cairn reflect now --date 2026-03-01 --wait --output json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.reflectNow(cmd.Context(), r, wait) }}
	now.Flags().StringVar(&r.Date, "date", "", "local date, such as 2026-03-01 (default today)")
	now.Flags().BoolVar(&r.Redo, "redo", false, "repeat a completed date; repeats all model calls")
	now.Flags().BoolVar(&wait, "wait", false, "wait until the reflection has ended")

	var date string
	var max int
	status := &cobra.Command{Use: "status", Short: "Show the results of reflections",
		Example: "  cairn reflect status\n  cairn reflect status --date 2026-03-01 --output json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.reflectStatus(cmd.Context(), date, max) }}
	status.Flags().StringVar(&date, "date", "", "local date to show with its notes, such as 2026-03-01 (default "+
		"the latest dates)")
	status.Flags().IntVar(&max, "max", 30, "maximum number of dates, 1 to 1000")

	var from, to string
	var redo bool
	backfill := &cobra.Command{Use: "backfill", Short: "Reflect on a range of past days",
		Long: "Reflect on each local date from --from to --to, both included, one after the other. Only messages " +
			"that no reflection has read are processed. Imported conversations belong to the dates of their " +
			"messages.",
		Example: "  cairn reflect backfill --from 2026-03-01 --to 2026-03-07",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.reflectBackfill(cmd.Context(), from, to, redo) }}
	backfill.Flags().StringVar(&from, "from", "", "first local date, such as 2026-03-01 (required)")
	backfill.Flags().StringVar(&to, "to", "", "last local date (required)")
	backfill.Flags().BoolVar(&redo, "redo", false, "repeat completed dates; repeats all model calls")
	_ = backfill.MarkFlagRequired("from")
	_ = backfill.MarkFlagRequired("to")
	return []*cobra.Command{now, status, backfill}
}

func (c *cli) reflectNow(ctx context.Context, r reflection.DateRequest, wait bool) error {
	s, err := c.open(ctx, needs{temporal: true})
	if err != nil {
		return err
	}
	defer s.close()
	opened, err := s.Reflections.Now(ctx, s.workspace, r)
	if err != nil {
		return err
	}
	if wait {
		if err := s.waitReflection(ctx, opened.Run); err != nil {
			return err
		}
	}
	return c.printReflection(ctx, s, opened.Run.Key)
}

// waitReflection waits until the run of a reflection has ended.
func (s *session) waitReflection(ctx context.Context, r run.Run) error {
	for {
		now, err := s.Reflect.Run(ctx, r.Ref)
		if err != nil || now.Status == run.Ended {
			return waited(ctx, err, "the reflection", "cairn reflect status --date "+r.Key)
		}
		select {
		case <-ctx.Done(): // the next read fails
		case <-time.After(pollInterval):
		}
	}
}

func (c *cli) reflectBackfill(ctx context.Context, from, to string, redo bool) error {
	s, err := c.open(ctx, needs{temporal: true})
	if err != nil {
		return err
	}
	defer s.close()
	err = s.Reflections.Backfill(ctx, s.workspace, from, to, redo, func(o reflection.OpenResult) error {
		fmt.Fprintf(c.errs, "%s: run %s\n", o.Run.Key, o.Run.Ref.Run)
		return s.waitReflection(ctx, o.Run)
	})
	if err != nil {
		return err
	}
	days, err := s.Reflect.List(ctx, s.workspace.ID, from, to, reflection.MaxReflections)
	if err != nil {
		return err
	}
	return c.printDays(days)
}

func (c *cli) reflectStatus(ctx context.Context, date string, max int) error {
	if max < 1 || max > reflection.MaxReflections {
		return usageError{fmt.Errorf("invalid --max %d: use 1 to %d", max, reflection.MaxReflections)}
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	if date != "" {
		return c.printReflection(ctx, s, date)
	}
	if err := c.warnReflectionOff(ctx, s); err != nil {
		return err
	}
	days, err := s.Reflect.List(ctx, s.workspace.ID, "", "", max)
	if err != nil {
		return err
	}
	return c.printDays(days)
}

// warnReflectionOff prints a warning if the workspace has turned reflection off.
func (c *cli) warnReflectionOff(ctx context.Context, s *session) error {
	return s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) error {
		chosen, err := q.Workspaces().Settings(ctx)
		if err == nil && !chosen.Reflection {
			fmt.Fprintln(c.errs, "reflection is turned off; to turn it on, run `cairn settings set reflection=true`")
		}
		return err
	})
}

func (c *cli) printDays(days []domainreflection.Day) error {
	if c.output == "json" {
		return c.printJSON(map[string]any{"reflections": days})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "DATE\tSTATUS\tCONVERSATIONS\tMESSAGES\tNOTES\tMEMORIES\tSKILLS\tRUN\tREASON")
	for _, d := range days {
		dayLine(tw, d)
	}
	return tw.Flush()
}

func dayLine(out io.Writer, d domainreflection.Day) {
	fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", d.Date, d.Status, d.Conversations, d.Messages, d.Notes,
		d.Memories, d.Skills, d.Run, d.Reason)
}

func (c *cli) printReflection(ctx context.Context, s *session, date string) error {
	d, err := s.Reflect.Show(ctx, s.workspace.ID, date)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(d)
	}
	if err := c.printDays([]domainreflection.Day{d.Day}); err != nil {
		return err
	}
	for _, r := range d.Runs {
		fmt.Fprintf(c.out, "run %s, generation %d: %s %s, %d model calls, %d turns, %d rejected, %d pending, %d "+
			"skipped\n", r.Run, r.Generation, r.State, r.Status, r.Steps, r.Turns, r.Refused, r.Staged, r.Skipped)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(c.out, "- %s\n", n.Content)
	}
	return nil
}
