package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// maxListed is the maximum number of workspaces in one list.
const maxListed = 1000

func (c *cli) workspaces() *cobra.Command {
	cmd := &cobra.Command{Use: "workspaces", Short: "List and create workspaces", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var prefix, after string
	var limit int
	list := &cobra.Command{Use: "list", Short: "List workspaces by name",
		Example: "  cairn workspaces list\n  cairn workspaces list --prefix demo-", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > maxListed {
				return usageError{fmt.Errorf("invalid --limit %d: use 1 to %d", limit, maxListed)}
			}
			return c.listWorkspaces(cmd.Context(), prefix, after, limit)
		}}
	list.Flags().StringVar(&prefix, "prefix", "", "list names that start with this text (default all)")
	list.Flags().StringVar(&after, "after", "", "list names after this one (default from the first)")
	list.Flags().IntVar(&limit, "limit", 100, fmt.Sprintf("maximum number of workspaces, 1 to %d", maxListed))
	create := &cobra.Command{Use: "create NAME", Short: "Create a workspace",
		Long: "Create a workspace, unless it exists. Commands that write, such as `cairn turn` and `cairn distill`, " +
			"also create their workspace.",
		Example: "  cairn workspaces create support", Args: exactly(1, "the name of the workspace"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.createWorkspace(cmd.Context(), args[0]) }}
	cmd.AddCommand(list, create)
	return cmd
}

func (c *cli) listWorkspaces(ctx context.Context, prefix, after string, limit int) error {
	return c.withSession(ctx, needs{noWorkspace: true}, func(s *session) error {
		found, err := s.Store.ListWorkspaces(ctx, prefix, after, limit+1)
		if err != nil {
			return err
		}
		next := ""
		if len(found) > limit {
			found = found[:limit]
			next = found[limit-1].Name
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"workspaces": found, "next": next})
		}
		if len(found) == 0 {
			fmt.Fprintln(c.out, "no workspaces")
			return nil
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "WORKSPACE\tSTATE\tCREATED")
		for _, w := range found {
			fmt.Fprintf(tw, "%s\t%s\t%s\n", w.Name, w.State, w.CreatedAt.Local().Format(time.DateTime))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		if next != "" {
			fmt.Fprintf(c.errs, "more workspaces follow: add --after %q\n", next)
		}
		return nil
	})
}

func (c *cli) createWorkspace(ctx context.Context, name string) error {
	c.workspace = name
	return c.withSession(ctx, needs{make: true}, func(s *session) error {
		if c.output == "json" {
			return c.printJSON(map[string]any{"name": s.workspace.Name})
		}
		fmt.Fprintf(c.out, "workspace %q is ready\n", s.workspace.Name)
		return nil
	})
}
