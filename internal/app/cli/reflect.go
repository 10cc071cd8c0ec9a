package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/adapter/devstack"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
)

// previewRequest holds the flags of `cairn reflect preview`.
type previewRequest struct {
	cron, zone, from string
	days, max        int
}

// Bounds of a preview: ten years, and the largest list that is practical as JSON.
const (
	maxPreviewDays    = 3660
	maxPreviewFirings = 100_000
)

func (c *cli) reflect() *cobra.Command {
	cmd := &cobra.Command{Use: "reflect", Short: "Run and inspect daily reflections", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var p previewRequest
	preview := &cobra.Command{Use: "preview", Short: "Show the firings of a schedule",
		Long: "Show the firings of a cron expression in a time zone. A local time that the clock skips is due " +
			"right after the gap, on its own date. A local time that occurs twice is due the first time. Quiet " +
			"hours and CAIRN_SWEEP_JITTER can delay the start: `cairn schedule list` shows the planned start. The " +
			"date of the firing does not change.\n\nWith --cron and --tz the command needs no server. Without --tz " +
			"it uses the time zone of the workspace if a database is configured or `cairn dev` runs, else UTC.",
		Example: "  cairn reflect preview --cron \"0 23 * * *\" --tz America/Nuuk --from 2026-03-01 --days 400\n  " +
			"cairn reflect preview --cron @hourly --tz Europe/Berlin --days 2 --output text\n  cairn reflect preview",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.previewReflection(cmd.Context(), p) }}
	flags := preview.Flags()
	flags.StringVar(&p.cron, "cron", recurrence.Daily,
		"cron expression: minute, hour, day of month, month, day of week; or @daily, @hourly, @every 2h")
	flags.StringVar(&p.zone, "tz", "", "IANA time zone, such as Asia/Shanghai (default that of the workspace)")
	flags.StringVar(&p.from, "from", "", "first local date, such as 2026-03-01 (default now)")
	flags.IntVar(&p.days, "days", 30, fmt.Sprintf("number of days, 1 to %d", maxPreviewDays))
	flags.IntVar(&p.max, "max", 1000, fmt.Sprintf("maximum number of firings, 1 to %d", maxPreviewFirings))
	cmd.AddCommand(preview)
	cmd.AddCommand(c.reflectRuns()...)
	return cmd
}

func (c *cli) previewReflection(ctx context.Context, p previewRequest) error {
	if p.days < 1 || p.days > maxPreviewDays {
		return usageError{fmt.Errorf("invalid --days %d: use 1 to %d", p.days, maxPreviewDays)}
	}
	if p.max < 1 || p.max > maxPreviewFirings {
		return usageError{fmt.Errorf("invalid --max %d: use 1 to %d", p.max, maxPreviewFirings)}
	}
	if p.zone == "" {
		var err error
		if p.zone, err = c.workspaceZone(ctx); err != nil {
			return err
		}
	}
	s, err := recurrence.Parse(p.cron, p.zone)
	if err != nil {
		return err
	}
	from, until, err := p.span(s)
	if err != nil {
		return err
	}
	firings := s.Preview(from, until, p.max+1)
	more := len(firings) > p.max
	firings = firings[:min(len(firings), p.max)]
	switch c.output {
	case "json":
		err = c.printJSON(previewDocument(s, firings, more))
	case "text":
		for _, f := range firings {
			fmt.Fprintf(c.out, "%s\t%s\t%s\n", f.Local.Format(time.RFC3339), f.LocalDate, f.Note)
		}
	default:
		err = printFirings(c.out, s, firings)
	}
	if more && c.output != "json" {
		fmt.Fprintf(c.errs, "only the first %d firings are shown; to see more, raise --max\n", p.max)
	}
	return err
}

// workspaceZone reads the time zone of the workspace if a database is running. It starts none.
func (c *cli) workspaceZone(ctx context.Context) (zone string, err error) {
	cfg, err := c.load(nil)
	if err != nil {
		return "", err
	}
	if cfg.DatabaseURL == "" {
		if _, running := devstack.Running(cfg.Home); !running {
			zone = settings.Default().TimeZone
			fmt.Fprintf(c.errs, "no database is configured: the time zone is %s; select another with --tz\n", zone)
			return zone, nil
		}
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return "", err
	}
	defer s.close()
	err = s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) error {
		chosen, err := q.Workspaces().Settings(ctx)
		zone = chosen.TimeZone
		return err
	})
	return zone, err
}

// span starts now or at the start of a local date, and lasts p.days local days.
func (p previewRequest) span(s recurrence.Schedule) (from, until time.Time, err error) {
	zone, err := recurrence.Zone(s.Zone())
	if err != nil {
		return from, until, err
	}
	if p.from == "" {
		from = time.Now()
		return from, from.In(zone).AddDate(0, 0, p.days), nil
	}
	day, err := time.Parse(time.DateOnly, p.from)
	if err != nil {
		return from, until, usageError{fmt.Errorf("invalid --from %q: use a date such as 2026-03-01", p.from)}
	}
	date := recurrence.DateOf(day)
	return date.Start(zone), date.AddDays(p.days).Start(zone), nil
}

func printFirings(out io.Writer, s recurrence.Schedule, firings []recurrence.Firing) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "DATE\tLOCAL\tOFFSET\tUTC\tNOTE")
	skipped, doubled := 0, 0
	for _, f := range firings {
		switch f.Meeting {
		case recurrence.Skipped:
			skipped++
		case recurrence.Doubled:
			doubled++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", f.LocalDate, f.Local.Format("Mon 2006-01-02 15:04"),
			f.Local.Format("-07:00"), f.At.Format("2006-01-02T15:04Z"), f.Note)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d firings of %q in %s; the clock skips %d and doubles %d\nThe table shows due "+
		"times. Quiet hours and jitter can delay the start; the date stays.\n", len(firings), s, s.Zone(),
		skipped, doubled)
	return err
}

func previewDocument(s recurrence.Schedule, firings []recurrence.Firing, more bool) map[string]any {
	type row struct {
		Key       string                 `json:"key"`
		At        time.Time              `json:"at"`
		Local     string                 `json:"local"`
		Offset    string                 `json:"offset"`
		LocalDate string                 `json:"local_date"`
		Meeting   recurrence.ClockChange `json:"meeting,omitempty"`
		Note      string                 `json:"note,omitempty"`
	}
	rows := make([]row, len(firings))
	for i, f := range firings {
		rows[i] = row{s.Key(f.At, f.LocalDate), f.At, f.Local.Format("2006-01-02T15:04:05"), f.Local.Format("-07:00"),
			f.LocalDate.String(), f.Meeting, f.Note}
	}
	return map[string]any{"cron": s.String(), "time_zone": s.Zone(), "once_per_date": s.OncePerDate(), "firings": rows,
		"more": more}
}
