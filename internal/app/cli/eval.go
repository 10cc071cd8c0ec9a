package cli

import (
	"github.com/spf13/cobra"
)

// evalCommand groups the measurements. Those of retrieval and profiles use a temporary database; that of
// memory skills is durable and has workspaces of its own.
func (c *cli) evalCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "eval", Short: "Measure retrieval and learning on public data sets",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(c.evalMemskill(), c.evalRetrieval(), c.evalProfiles())
	return cmd
}
