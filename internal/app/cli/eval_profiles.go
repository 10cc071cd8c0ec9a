package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/app/lab"
	"cairn/internal/service/evaluation/profiles"
)

func (c *cli) evalProfiles() *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use: "profiles", Short: "Measure what the agents of long-term memory cost under other names of tools, ways " +
			"to think and shapes of calls",
		Long: "Have a session remembered and questions answered by each profile, in a throw-away stack with the " +
			"offline rules: calls,\n" +
			"tokens and what came of it. A profile is TOOLS/THINKING/CALLS: usual or typed, native, none, param or " +
			"tool, multiple\nor single. A workspace chooses one in memory.profile, memory.thinking and " +
			"memory.single, an agent in memory.modes.",
		Example: "  cairn eval profiles --profile usual/native/multiple --profile typed/param/single -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.runEvalProfiles(cmd.Context(), names) },
	}
	cmd.Flags().StringSliceVar(&names, "profile", nil, "measure only these (default all)")
	return cmd
}

func (c *cli) runEvalProfiles(ctx context.Context, names []string) error {
	chosen, err := profiles.Named(names)
	if err != nil {
		return err
	}
	h, done, err := lab.OpenStack(ctx, c.errs)
	if err != nil {
		return err
	}
	defer done()
	rows, err := profiles.Measure(ctx, h.Profiles(), chosen, c.errs)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"model": "offline rules", "profiles": rows})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TOOLS\tTHINKING\tCALLS\tMODEL CALLS\tTOKENS\tTOOL "+
		"CALLS\tFAILED\tMEMORIES\tSTATUS\tANSWERED\tSECONDS")
	for _, r := range rows {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d of %d\t%.1f\n", r.Tools, r.Thinking, r.Calls,
			r.ModelCalls, r.Tokens, r.ToolCalls, r.Failed, r.Memories, r.Status, r.Answered, r.Questions, r.Seconds)
	}
	return tw.Flush()
}
