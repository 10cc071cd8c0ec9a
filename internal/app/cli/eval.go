package cli

import (
	"github.com/spf13/cobra"
)

// evalCommand groups the measurements on public data sets. They use a temporary database.
func (c *cli) evalCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "eval", Short: "Measure retrieval and learning on public data sets",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(append(c.skillsEvals(), c.evalRetrieval(), c.evalProfiles())...)
	return cmd
}
