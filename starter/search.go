package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (c *cli) search() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Search the workspace's skills; an exact name comes first, an unrelated query finds nothing",
		Example: "  cairn search how to cancel a flight",
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usageError{fmt.Errorf("give some words to search for")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runSearch(cmd.Context(), strings.Join(args, " "), limit)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 5, "how many results at most, 1 to 50")
	return cmd
}

func (c *cli) runSearch(ctx context.Context, query string, limit int) error {
	if limit < 1 || limit > 50 {
		return usageError{fmt.Errorf("--limit %d: use 1 to 50", limit)}
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	found, err := s.Finder.Skills(ctx, s.workspace.ID, query, limit)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"query": query, "results": found})
	}
	if len(found) == 0 {
		fmt.Fprintln(c.out, "nothing relevant found")
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SKILL\tVERSION\tSIMILARITY\tDESCRIPTION")
	for _, f := range found {
		fmt.Fprintf(tw, "%s\t%d\t%.2f\t%s\n", f.Skill.Name, f.Skill.Version, f.Cosine, short(f.Skill.Description))
	}
	return tw.Flush()
}
