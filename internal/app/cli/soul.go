package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/memory"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/promptmemory"
)

func (c *cli) soul() *cobra.Command {
	cmd := &cobra.Command{Use: "soul", Short: "Show and change how the user wants to be answered", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	get := &cobra.Command{Use: "get", Short: "Show how the user wants to be answered", Example: "  cairn soul get",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.showSoul(cmd.Context()) }}
	var add bool
	var expect int
	set := &cobra.Command{Use: "set WORDS", Short: "Say how the user wants to be answered (- for standard input)",
		Example: "  cairn soul set Answer briefly, without emoji\n  cat soul.txt | cairn soul set - --append",
		Args:    someText("tone, style, language, form of address"),
		Long: "Say how the user wants to be answered. It takes effect in the next session, half an hour later at " +
			"most, and never\noverrides the rules above it. Earlier versions are kept.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.text(args)
			if err != nil {
				return err
			}
			in := promptmemory.SoulArgs{Content: text, Mode: string(memory.SoulReplace),
				Expected: given(cmd, "expect", &expect)}
			if add {
				in.Mode = string(memory.SoulAppend)
			}
			return c.changeSoul(cmd.Context(), func(s *session) (promptmemory.SoulResult, error) {
				return s.Memory.SoulUpdate(cmd.Context(), s.person(), in)
			})
		}}
	set.Flags().BoolVar(&add, "append", false, "add to what is there")
	set.Flags().IntVar(&expect, "expect", 0, "refuse unless this version is in force")
	history := &cobra.Command{Use: "history", Short: "List the versions of the soul, the latest first",
		Example: "  cairn soul history", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.soulHistory(cmd.Context()) }}
	var to int
	rollback := &cobra.Command{Use: "rollback --to VERSION",
		Short:   "Make a new version that says what an old one said; version 0 said nothing",
		Example: "  cairn soul rollback --to 1", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("to") {
				return usageError{fmt.Errorf("--to is missing: the version to go back to")}
			}
			return c.changeSoul(cmd.Context(), func(s *session) (promptmemory.SoulResult, error) {
				return s.Memory.SoulRollback(cmd.Context(), s.person(),
					memorywrite.RollbackArgs{Version: to, Expected: given(cmd, "expect", &expect)})
			})
		}}
	rollback.Flags().IntVar(&to, "to", 0, "the version to go back to")
	rollback.Flags().IntVar(&expect, "expect", 0, "refuse unless this version is in force")
	cmd.AddCommand(get, set, history, rollback)
	return cmd
}

// given is a flag's value, nil unless it was given.
func given(cmd *cobra.Command, flag string, value *int) *int {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return value
}

func (c *cli) showSoul(ctx context.Context) error {
	return c.looking(ctx, needs{}, func(s *session) error {
		soul, err := s.Memory.SoulGet(ctx, s.person())
		if err != nil {
			return err
		}
		switch {
		case c.output == "json":
			return c.printJSON(map[string]any{"soul": soul})
		case soul.Content != "":
			fmt.Fprintln(c.out, soul.Content)
		case c.output != "text":
			fmt.Fprintln(c.out, "nothing is said of how the user wants to be answered; `cairn soul set` does")
		}
		if c.output == "table" && soul.Version > 0 {
			fmt.Fprintf(c.out, "— version %d, by %s\n", soul.Version, soul.Origin)
		}
		return nil
	})
}

func (c *cli) changeSoul(ctx context.Context, change func(*session) (promptmemory.SoulResult, error)) error {
	return c.looking(ctx, needs{make: true}, func(s *session) error {
		w, err := change(s)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(w)
		}
		fmt.Fprintf(c.out, "%s: version %d, in force from the next session on\n", w.Action, w.Version)
		for _, warning := range w.Warnings {
			fmt.Fprintf(c.errs, "  %s\n", warning)
		}
		return nil
	})
}

func (c *cli) soulHistory(ctx context.Context) error {
	const most = 1000
	return c.looking(ctx, needs{}, func(s *session) error {
		versions, err := s.Memory.SoulHistory(ctx, s.person(), most)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"versions": append([]memory.Soul{}, versions...)})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "VERSION\tCHANGE\tMADE\tBY\tSAYS")
		for _, v := range versions {
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", v.Version, v.Action, v.CreatedAt.Local().Format(time.DateTime),
				v.Origin, short(oneLine(v.Content)))
		}
		return tw.Flush()
	})
}
