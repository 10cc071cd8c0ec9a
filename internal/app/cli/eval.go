package cli

import (
	"github.com/spf13/cobra"
)

// evalCommand groups the measurements of learning. They are durable and have workspaces of their own.
func (c *cli) evalCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "eval", Short: "Measure learning on public data sets",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(c.evalMemskill())
	return cmd
}
