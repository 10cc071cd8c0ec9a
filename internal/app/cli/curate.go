package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/domain/readmodel"
	"cairn/internal/service/library"
)

func (c *cli) curate() *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{Use: "curate", Short: "Archive unused skills and report near duplicates",
		Long: "Archive unused skills now, as the scheduled task weekly-curation does. A skill that was created " +
			"automatically becomes stale if it is not used, and is archived later or if it is unreliable. Using a " +
			"stale skill makes it active again. Skills of users, pinned skills and skills that a scheduled prompt " +
			"names are not changed. No skill is deleted: `cairn skills restore SKILL` restores an archived skill.",
		Example: "  cairn curate --dry-run\n  cairn curate --output json", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withSession(cmd.Context(), needs{make: true}, func(s *session) error {
				r, err := s.Curator.Curate(cmd.Context(), s.workspace.ID, dryRun)
				if err != nil {
					return err
				}
				return c.printCuration(r)
			})
		}}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the changes without making them")
	return cmd
}

func (c *cli) printCuration(r library.CuratorReport) error {
	if c.output == "json" {
		return c.printJSON(r)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if len(r.Changes) > 0 {
		fmt.Fprintln(tw, "SKILL\tWAS\tACTION\tREASON")
	}
	for _, change := range r.Changes {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", change.Name, change.Was, change.Action, change.Reason)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, p := range r.Similar {
		fmt.Fprintf(c.out, "%s and %s are similar (%s, %.2f)\n", p.One, p.Other, p.By, p.Similarity)
	}
	verb := "changed"
	if r.DryRun {
		verb = "would change"
	}
	_, err := fmt.Fprintf(c.out, "%d of %d skills %s; %d exempt\n", len(r.Changes), r.Looked, verb, r.Kept)
	return err
}

func (c *cli) insights() *cobra.Command {
	days := 30
	cmd := &cobra.Command{Use: "insights", Short: "Show skill usage and model costs",
		Example: "  cairn insights\n  cairn insights --days 7 --output json", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > maxPreviewDays {
				return usageError{fmt.Errorf("invalid --days %d: use 1 to %d", days, maxPreviewDays)}
			}
			return c.withSession(cmd.Context(), needs{make: true}, func(s *session) error {
				i, err := s.Workspaces.Insights(cmd.Context(), s.workspace.ID, days)
				if err != nil {
					return err
				}
				return c.printInsights(i)
			})
		}}
	cmd.Flags().IntVar(&days, "days", days, fmt.Sprintf("number of days up to now, 1 to %d", maxPreviewDays))
	return cmd
}

// insightsShown bounds each list of a table. JSON output has all rows.
const insightsShown = 20

func (c *cli) printInsights(i readmodel.Insights) error {
	if c.output == "json" {
		return c.printJSON(i)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	used, never := i.Used(), i.NeverUsed()
	fmt.Fprintf(tw, "Used within %d days: %d skills\n", i.Days, len(used))
	usages(tw, used)
	fmt.Fprintf(tw, "Never used: %d skills\n", len(never))
	usages(tw, never)
	fmt.Fprintf(tw, "Costs within %d days\n", i.Days)
	fmt.Fprintln(tw, "  KIND\tRUNS\tMODEL CALLS\tTOKENS\tCOST")
	for _, s := range i.Runs {
		cost := dollars(s.Micros)
		if s.Unpriced > 0 {
			cost += fmt.Sprintf(", plus %d calls without a known price", s.Unpriced)
		}
		fmt.Fprintf(tw, "  %s\t%d\t%d\t%d\t%s\n", s.Kind, s.Runs, s.Calls, s.Tokens, cost)
	}
	return tw.Flush()
}

func usages(tw *tabwriter.Writer, list []readmodel.SkillUsage) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(tw, "  SKILL\tSTATE\tUSES\tPASSED\tFAILED\tRELIABILITY\tCREATION COST")
	for _, u := range list[:min(len(list), insightsShown)] {
		fmt.Fprintf(tw, "  "+
			"%s\t%s\t%d\t%d\t%d\t%.2f\t%s\n", u.Name, u.Status, u.Uses, u.Passes, u.Fails, u.Reliability,
			dollars(u.Micros))
	}
	if more := len(list) - insightsShown; more > 0 {
		fmt.Fprintf(tw, "  and %d more\n", more)
	}
}

// dollars formats micro-dollars.
func dollars(micros int64) string { return fmt.Sprintf("$%.4f", float64(micros)/1e6) }
