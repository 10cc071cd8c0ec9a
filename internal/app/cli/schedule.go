package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/recurrence"
	"cairn/internal/service/schedule"
)

func (c *cli) schedule() *cobra.Command {
	cmd := &cobra.Command{Use: "schedule",
		Short: "Look after what is done again and again: reflection, curation, your own prompts", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	list := &cobra.Command{Use: "list", Short: "List the workspace's scheduled tasks, when they are due, and when " +
		"they start if that is later",
		Long: "List the workspace's scheduled tasks. What is due in the workspace's quiet hours starts at their " +
			"end; the built-in tasks of all\n" +
			"workspaces are spread over CAIRN_SWEEP_JITTER. The date that a firing counts for is that on which it " +
			"was due.",
		Example: "  cairn schedule list\n  cairn schedule list -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.looking(cmd.Context(), needs{make: true}, func(s *session) error {
				tasks, err := s.Schedules.List(cmd.Context(), s.workspace.ID)
				if err != nil {
					return err
				}
				return c.printTasks(tasks)
			})
		}}
	pause := c.scheduleChange("pause", "Keep a task from coming due", "cairn schedule pause daily-reflection",
		(*schedule.Service).Pause)
	resume := c.scheduleChange("resume", "Let a task come due again, without what it missed",
		"cairn schedule resume daily-reflection", (*schedule.Service).Resume)
	remove := &cobra.Command{Use: "remove NAME", Short: "Remove a scheduled task; its conversation stays",
		Example: "  cairn schedule remove morning-report", Args: exactly(1, "the name of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.looking(cmd.Context(), needs{}, func(s *session) error {
				return s.Schedules.Remove(cmd.Context(), s.workspace.ID, args[0])
			})
		}}
	cmd.AddCommand(list, c.scheduleAdd(), pause, resume, remove, c.scheduleTrigger(), c.scheduleBackfill())
	return cmd
}

func (c *cli) scheduleAdd() *cobra.Command {
	var d schedule.Draft
	cmd := &cobra.Command{Use: "add NAME PROMPT...", Short: "Have a prompt answered again and again",
		Long: "Have a prompt answered again and again, as turns in a conversation of the task's own. A wall time " +
			"that the clock skips is\n" +
			"due right after the gap, one that comes twice is due the first time. Firings that were missed are one, " +
			"the latest, unless\nit is later than --catch-up.",
		Example: "  cairn schedule add morning-report --cron \"0 8 * * MON-FRI\" \"Sum up what is open since " +
			"yesterday.\"\n  cairn schedule add backups --cron @daily --tz Europe/Berlin --max-turns 5 \"Check the " +
			"backups.\"",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if d.Name = args[0]; len(args) == 1 {
				return usageError{fmt.Errorf("give the prompt after the name, or - for standard input")}
			}
			if d.Prompt, err = c.text(args[1:]); err != nil {
				return err
			}
			return c.looking(cmd.Context(), needs{make: true}, func(s *session) error {
				t, err := s.Schedules.Add(cmd.Context(), s.workspace.ID, d)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.errs, "its answers: cairn conversations show %s\n", t.Conversation())
				return c.printTasks([]schedule.Task{t})
			})
		}}
	flags := cmd.Flags()
	flags.StringVar(&d.Cron, "cron", recurrence.Daily,
		"minute, hour, day of the month, month, day of the week; or @daily, @every 2h and the like")
	flags.StringVar(&d.Zone, "tz", "", "IANA time zone, such as Asia/Shanghai (default the workspace's, whatever it "+
		"is then)")
	flags.StringVar(&d.Channel, "channel", "scheduled",
		"channel of its turns, which decides their budget: voice, sms, chat, scheduled")
	flags.IntVar(&d.MaxTurns, "max-turns", 0,
		"model calls of a turn, 1 to 50 (default the channel's budget, 15 for scheduled)")
	flags.DurationVar(&d.CatchUp, "catch-up", 12*time.Hour, "skip a firing that is later than this, at most 168h")
	flags.StringVar(&d.Overlap, "overlap", schedule.OverlapSkip,
		"when the turn before has no answer yet: skip or queue")
	return cmd
}

func (c *cli) scheduleChange(use, short, example string,
	do func(*schedule.Service, context.Context, int64, string) (schedule.Task, error)) *cobra.Command {
	return &cobra.Command{Use: use + " NAME", Short: short, Example: "  " + example,
		Args: exactly(1, "the name of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.looking(cmd.Context(), needs{}, func(s *session) error {
				t, err := do(s.Schedules, cmd.Context(), s.workspace.ID, args[0])
				if err != nil {
					return err
				}
				return c.printTasks([]schedule.Task{t})
			})
		}}
}

func (c *cli) scheduleTrigger() *cobra.Command {
	return &cobra.Command{Use: "trigger NAME", Short: "Fire a task now, beside its cadence, paused or not",
		Example: "  cairn schedule trigger weekly-curation", Args: exactly(1, "the name of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.looking(cmd.Context(), needs{temporal: true}, func(s *session) error {
				f, err := s.Schedules.Trigger(cmd.Context(), s.workspace.ID, s.workspace.Key, args[0], "")
				if err != nil {
					return err
				}
				return c.printFired([]schedule.FiringRecord{f})
			})
		}}
}

func (c *cli) scheduleBackfill() *cobra.Command {
	var from, until string
	cmd := &cobra.Command{Use: "backfill NAME --from DATE",
		Short: "Fire a task for each time that it was due in the past", Long: "Fire a task for each time that it " +
			"was due from one local date to another, both included. A firing that was there before is\nnot repeated.",
		Example: "  cairn schedule backfill morning-report --from 2026-11-09 --until 2026-11-10",
		Args:    exactly(1, "the name of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if until == "" {
				until = from
			}
			first, err := recurrence.ParseDate(from)
			if err != nil {
				return err
			}
			last, err := recurrence.ParseDate(until)
			if err != nil {
				return err
			}
			return c.looking(cmd.Context(), needs{temporal: true}, func(s *session) error {
				fired, err := s.Schedules.Backfill(cmd.Context(), s.workspace.ID, s.workspace.Key, args[0], first, last)
				if len(fired) > 0 || err == nil {
					if printing := c.printFired(fired); err == nil {
						err = printing
					}
				}
				return err
			})
		}}
	cmd.Flags().StringVar(&from, "from", "", "first local date, as 2026-03-01")
	cmd.Flags().StringVar(&until, "until", "", "last local date (default the first)")
	return cmd
}

func (c *cli) printTasks(tasks []schedule.Task) error {
	if c.output == "json" {
		return c.printJSON(map[string]any{"schedules": tasks})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if c.output == "table" {
		fmt.Fprintln(tw, "NAME\tCRON\tTIME ZONE\tDUE\tSTARTS\tLAST\tWHAT")
	}
	for _, t := range tasks {
		zone, err := recurrence.Zone(t.Zone)
		if err != nil {
			return err
		}
		next, starts, last := "not planned yet", "", "never"
		if t.DueAt != nil {
			next = t.DueAt.In(zone).Format(dueForm)
		}
		if t.StartsAt != nil && t.StartsAt.After(*t.DueAt) {
			starts = t.StartsAt.In(zone).Format(dueForm)
		}
		switch {
		case t.PausedAt != nil:
			next, starts = "paused", ""
		case t.Off:
			next, starts = "turned off (settings: reflection)", ""
		}
		if t.Last != nil {
			last = strings.TrimSpace(t.Last.Date + " " + t.Last.Outcome)
		}
		what := string(t.Kind)
		if t.Kind == schedule.Turn {
			what = firstLine(t.Prompt)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.Cron, t.Zone, next, starts, last, what)
	}
	return tw.Flush()
}

const dueForm = "Mon 2006-01-02 15:04"

// promptShown is how much of a prompt a list shows.
const promptShown = 50

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > promptShown {
		return string(runes[:promptShown-1]) + "…"
	}
	return line
}

func (c *cli) printFired(fired []schedule.FiringRecord) error {
	if c.output == "json" {
		if fired == nil {
			fired = []schedule.FiringRecord{}
		}
		return c.printJSON(map[string]any{"firings": fired})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if c.output == "table" {
		fmt.Fprintln(tw, "DATE\tFIRING\tOUTCOME\tREASON")
	}
	for _, f := range fired {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", f.Date, f.Key, f.Outcome, f.Reason)
	}
	return tw.Flush()
}
