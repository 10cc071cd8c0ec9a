package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/service/schedule"
)

func (c *cli) schedule() *cobra.Command {
	cmd := &cobra.Command{Use: "schedule",
		Short: "Manage scheduled tasks", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	list := &cobra.Command{Use: "list", Short: "List scheduled tasks and their next firings",
		Long: "List the scheduled tasks of the workspace. A firing that is due in the quiet hours starts at their " +
			"end. The starts of built-in tasks are spread over CAIRN_SWEEP_JITTER. STARTS is shown if it differs " +
			"from DUE. The date of a firing is the date on which it is due.",
		Example: "  cairn schedule list\n  cairn schedule list --output json", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withSession(cmd.Context(), needs{make: true}, func(s *session) error {
				tasks, err := s.Schedules.List(cmd.Context(), s.workspace.ID)
				if err != nil {
					return err
				}
				return c.printTasks(tasks)
			})
		}}
	pause := c.scheduleChange("pause", "Pause a scheduled task", "cairn schedule pause daily-reflection",
		(*schedule.Service).Pause)
	resume := c.scheduleChange("resume", "Resume a paused task without its missed firings",
		"cairn schedule resume daily-reflection", (*schedule.Service).Resume)
	remove := &cobra.Command{Use: "remove NAME", Short: "Remove a scheduled task",
		Long:    "Remove a scheduled task. Its conversation is not deleted.",
		Example: "  cairn schedule remove morning-report", Args: exactly(1, "the name of the task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withSession(cmd.Context(), needs{}, func(s *session) error {
				return s.Schedules.Remove(cmd.Context(), s.workspace.ID, args[0])
			})
		}}
	cmd.AddCommand(list, c.scheduleAdd(), pause, resume, remove, c.scheduleTrigger(), c.scheduleBackfill())
	return cmd
}

func (c *cli) scheduleAdd() *cobra.Command {
	var d scheduled.Draft
	cmd := &cobra.Command{Use: "add NAME PROMPT...", Short: "Schedule a prompt",
		Long: "Schedule a prompt. Each firing is a turn in the conversation of the task. PROMPT can be - for " +
			"standard input. A local time that the clock skips is due right after the gap. A local time that " +
			"occurs twice is due the first time. Of several missed firings only the latest runs, unless it is " +
			"older than --catch-up.",
		Example: "  cairn schedule add morning-report --cron \"0 8 * * MON-FRI\" \"Sum up what is open since " +
			"yesterday.\"\n  cairn schedule add backups --cron @daily --tz Europe/Berlin --max-turns 5 \"Check the " +
			"backups.\"",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if d.Name = args[0]; len(args) == 1 {
				return usageError{fmt.Errorf("missing argument: the prompt, or - for standard input")}
			}
			if d.Prompt, err = c.text(args[1:]); err != nil {
				return err
			}
			return c.withSession(cmd.Context(), needs{make: true}, func(s *session) error {
				t, err := s.Schedules.Add(cmd.Context(), s.workspace.ID, d)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.errs, "to see the replies, run `cairn conversations show %s`\n", t.Conversation())
				return c.printTasks([]scheduled.Task{t})
			})
		}}
	flags := cmd.Flags()
	flags.StringVar(&d.Cron, "cron", recurrence.Daily,
		"cron expression: minute, hour, day of month, month, day of week; or @daily, @hourly, @every 2h")
	flags.StringVar(&d.Zone, "tz", "", "IANA time zone, such as Asia/Shanghai (default the current setting "+
		"time_zone)")
	flags.StringVar(&d.Channel, "channel", "scheduled",
		"channel of the turns, which sets their budget: voice, sms, chat or scheduled")
	flags.IntVar(&d.MaxTurns, "max-turns", 0,
		"maximum steps of a turn, 1 to 50 (default the channel's budget, 15 for scheduled)")
	flags.DurationVar(&d.CatchUp, "catch-up", 12*time.Hour, "skip a missed firing that is older than this, at most "+
		"168h")
	flags.StringVar(&d.To, "to", "", "chat that gets the replies, as ACCOUNT/CHAT (default the home chat, which "+
		"/home selects)")
	flags.StringVar(&d.Overlap, "overlap", scheduled.OverlapSkip, "if the previous turn has not ended: skip or queue")
	return cmd
}

func (c *cli) scheduleChange(use, short, example string,
	do func(*schedule.Service, context.Context, int64, string) (scheduled.Task, error)) *cobra.Command {
	return &cobra.Command{Use: use + " NAME", Short: short, Example: "  " + example,
		Args: exactly(1, "the name of the task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withSession(cmd.Context(), needs{}, func(s *session) error {
				t, err := do(s.Schedules, cmd.Context(), s.workspace.ID, args[0])
				if err != nil {
					return err
				}
				return c.printTasks([]scheduled.Task{t})
			})
		}}
}

func (c *cli) scheduleTrigger() *cobra.Command {
	return &cobra.Command{Use: "trigger NAME", Short: "Run a scheduled task now",
		Long:    "Run a scheduled task now, even if it is paused. Its next regular firing does not change.",
		Example: "  cairn schedule trigger weekly-curation", Args: exactly(1, "the name of the task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withSession(cmd.Context(), needs{temporal: true}, func(s *session) error {
				f, err := s.Schedules.Trigger(cmd.Context(), s.workspace.ID, s.workspace.Key, args[0], "")
				if err != nil {
					return err
				}
				return c.printFired([]scheduled.FiringRecord{f})
			})
		}}
}

func (c *cli) scheduleBackfill() *cobra.Command {
	var from, until string
	cmd := &cobra.Command{Use: "backfill NAME --from DATE",
		Short: "Run a task for past due times", Long: "Run a task for each time that it was due from --from to " +
			"--until, both included. A firing that already exists is not repeated.",
		Example: "  cairn schedule backfill morning-report --from 2026-11-09 --until 2026-11-10",
		Args:    exactly(1, "the name of the task"),
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
			return c.withSession(cmd.Context(), needs{temporal: true}, func(s *session) error {
				fired, err := s.Schedules.Backfill(cmd.Context(), s.workspace.ID, s.workspace.Key, args[0], first, last)
				if len(fired) > 0 || err == nil {
					if printErr := c.printFired(fired); err == nil {
						err = printErr
					}
				}
				return err
			})
		}}
	cmd.Flags().StringVar(&from, "from", "", "first local date, such as 2026-03-01 (required)")
	cmd.Flags().StringVar(&until, "until", "", "last local date (default the value of --from)")
	return cmd
}

func (c *cli) printTasks(tasks []scheduled.Task) error {
	if c.output == "json" {
		return c.printJSON(map[string]any{"schedules": tasks})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if c.output == "table" {
		fmt.Fprintln(tw, "NAME\tCRON\tTIME ZONE\tDUE\tSTARTS\tLAST\tTASK")
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
			next, starts = "off (setting reflection)", ""
		}
		if t.Last != nil {
			last = strings.TrimSpace(t.Last.Date + " " + t.Last.Outcome)
		}
		what := string(t.Kind)
		if t.Kind == scheduled.Turn {
			what = firstLine(t.Prompt)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.Cron, t.Zone, next, starts, last, what)
	}
	return tw.Flush()
}

const dueForm = "Mon 2006-01-02 15:04"

// promptShown bounds the part of a prompt that a list shows, in characters.
const promptShown = 50

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return shorten(line, promptShown)
}

func (c *cli) printFired(fired []scheduled.FiringRecord) error {
	if c.output == "json" {
		if fired == nil {
			fired = []scheduled.FiringRecord{}
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
