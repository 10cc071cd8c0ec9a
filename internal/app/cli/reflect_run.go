package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/run"
	"cairn/internal/service/reflection"
)

// reflectRuns are the commands that reflect, and tell what it came to.
func (c *cli) reflectRuns() []*cobra.Command {
	var r reflection.DateRequest
	var wait bool
	now := &cobra.Command{Use: "now", Short: "Look back on a day now: notes, memories and skills of its conversations",
		Long: "Look back on a local date of the workspace. Of today what is unread so far is read, the rest when " +
			"the day is over; of an\n" +
			"earlier date what was said on it. A date that is done stays as it is; one that failed is done again. " +
			"Quiet hours do not hold\n" +
			"it back; a workspace that has turned reflection off is not read.",
		Example: "  cairn reflect now --wait\n  cairn reflect now --date 2026-03-01 --wait -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.reflectNow(cmd.Context(), r, wait) }}
	now.Flags().StringVar(&r.Date, "date", "", "local date, as 2026-03-01 (default today)")
	now.Flags().BoolVar(&r.Redo, "redo", false, "read the date again although it is done, and pay again")
	now.Flags().BoolVar(&wait, "wait", false, "wait until it is over")

	var date string
	var max int
	status := &cobra.Command{Use: "status", Short: "Show what the latest days came to, or one of them with its notes",
		Example: "  cairn reflect status\n  cairn reflect status --date 2026-03-01 -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.reflectStatus(cmd.Context(), date, max) }}
	status.Flags().StringVar(&date, "date", "", "local date, as 2026-03-01")
	status.Flags().IntVar(&max, "max", 30, "how many dates at most, 1 to 1000")

	var from, to string
	var redo bool
	backfill := &cobra.Command{Use: "backfill", Short: "Look back on every day from one date to another, both included",
		Long: "Look back on every local date from one to another, one after the other, for what was said on it and " +
			"never read. Imported\n" +
			"conversations count on the dates that their messages have.",
		Example: "  cairn reflect backfill --from 2026-03-01 --to 2026-03-07",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.reflectBackfill(cmd.Context(), from, to, redo) }}
	backfill.Flags().StringVar(&from, "from", "", "first local date, as 2026-03-01")
	backfill.Flags().StringVar(&to, "to", "", "last local date")
	backfill.Flags().BoolVar(&redo, "redo", false, "read the dates again although they are done, and pay again")
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
		if err := s.reflected(ctx, opened.Run); err != nil {
			return err
		}
	}
	return c.printReflection(ctx, s, opened.Run.Key)
}

// reflected waits until a run has ended.
func (s *session) reflected(ctx context.Context, r run.Run) error {
	for {
		now, err := s.Reflect.Run(ctx, r.Ref)
		if err != nil || now.Status == run.Ended {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped waiting; the run goes on when a worker runs: cairn reflect status --date %s: %w",
				r.Key, ctx.Err())
		case <-time.After(lookEvery):
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
		fmt.Fprintf(c.errs, "%s: run %d\n", o.Run.Key, o.Run.Ref.Run)
		return s.reflected(ctx, o.Run)
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
		return usageError{fmt.Errorf("--max %d: use 1 to %d", max, reflection.MaxReflections)}
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	if date != "" {
		return c.printReflection(ctx, s, date)
	}
	if err := c.tellOff(ctx, s); err != nil {
		return err
	}
	days, err := s.Reflect.List(ctx, s.workspace.ID, "", "", max)
	if err != nil {
		return err
	}
	return c.printDays(days)
}

// tellOff says why no more dates come.
func (c *cli) tellOff(ctx context.Context, s *session) error {
	return s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q postgres.Tx) error {
		chosen, err := q.Workspaces().Settings(ctx)
		if err == nil && !chosen.Reflection {
			fmt.Fprintln(c.errs, "reflection is turned off in the workspace's settings; cairn settings set "+
				"reflection=true turns it on")
		}
		return err
	})
}

func (c *cli) printDays(days []reflection.Day) error {
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

func dayLine(out io.Writer, d reflection.Day) {
	fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", d.Date, d.Status, d.Conversations, d.Messages, d.Notes,
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
	if err := c.printDays([]reflection.Day{d.Day}); err != nil {
		return err
	}
	for _, r := range d.Runs {
		fmt.Fprintf(c.out, "run %d, generation %d: %s %s, %d model calls, %d turns, %d refused, %d staged, %d "+
			"passed over\n", r.Run, r.Generation, r.State, r.Status, r.Steps, r.Turns, r.Refused, r.Staged, r.Skipped)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(c.out, "- %s\n", n.Content)
	}
	return nil
}
