package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/lab/bench/profiles"
	"cairn/internal/lab/tempcairn"
)

func (p *program) profiles() *cobra.Command {
	var names []string
	cmd := p.benchmark(&cobra.Command{
		Use: "profiles", Short: "Measure the cost of memory agent profiles",
		Long: "Measure the calls, tokens and results of each profile of the memory agents. Each profile summarizes " +
			"a session and answers questions, with the offline model in a temporary stack. A profile is " +
			"TOOLS/THINKING/CALLS: TOOLS is usual or typed, THINKING is native, none, param or tool, CALLS is " +
			"multiple or single. The settings memory.profile, memory.thinking and memory.single select a profile " +
			"for a workspace, and memory.modes selects one for an agent.",
		Example: "  cairn-bench profiles --profile usual/native/multiple --profile typed/param/single --output json",
	}, func(ctx context.Context) error { return p.runProfiles(ctx, names) })
	cmd.Flags().StringSliceVar(&names, "profile", nil, "profile to measure; may be repeated (default all)")
	return cmd
}

func (p *program) runProfiles(ctx context.Context, names []string) error {
	chosen, err := profiles.Named(names)
	if err != nil {
		return err
	}
	h, done, err := tempcairn.OpenStack(ctx, p.errs, nil)
	if err != nil {
		return err
	}
	defer done()
	rows, err := profiles.Measure(ctx, profiles.Of(h), chosen, p.errs)
	if err != nil {
		return err
	}
	return p.measured(map[string]any{"model": "offline rules", "profiles": rows}, func(out io.Writer) error {
		tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "TOOLS\tTHINKING\tCALLS\tMODEL CALLS\tTOKENS\tTOOL "+
			"CALLS\tFAILED\tMEMORIES\tSTATUS\tANSWERED\tSECONDS")
		for _, r := range rows {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d of %d\t%.1f\n", r.Tools, r.Thinking, r.Calls,
				r.ModelCalls, r.Tokens, r.ToolCalls, r.Failed, r.Memories, r.Status, r.Answered, r.Questions, r.Seconds)
		}
		return tw.Flush()
	})
}
