package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

func (c *cli) listDecisions(ctx context.Context, name string, most int) error {
	return c.withBanks(ctx, func(s *session) error {
		decisions, _, err := s.Learning.Builds.Decisions(ctx, s.workspace.ID, name, "", most)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"decisions": decisions})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "TIME\tRUN\tSPAN\tVERSION\tCHOICE\tPROPENSITY\tOF\tTOKENS\tSCORE\tSKILLS")
		for _, d := range decisions {
			choice, score := "greedy", ""
			if d.Sampled {
				choice = "sampled"
			}
			if d.Score != nil {
				score = fmt.Sprintf("%.2f (%d)", *d.Score, d.Scores)
			}
			fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\t%.4f\t%d\t%d\t%s\t%s\n", d.CreatedAt.Format(time.RFC3339), d.Run,
				d.Span, d.Version, choice, d.Propensity, d.Candidates, d.Tokens, score,
				strings.Join(d.Chosen, ", "))
		}
		return tw.Flush()
	})
}
