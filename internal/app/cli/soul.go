package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

func (c *cli) soul() *cobra.Command {
	cmd := &cobra.Command{Use: "soul", Short: "Show and change reply preferences", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	get := &cobra.Command{Use: "get", Short: "Show the reply preferences", Example: "  cairn soul get",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.showSoul(cmd.Context()) }}
	var add bool
	var expect int
	set := &cobra.Command{Use: "set WORDS", Short: "Set the reply preferences",
		Example: "  cairn soul set Answer briefly, without emoji\n  cat soul.txt | cairn soul set - --append",
		Args:    someText("the reply preferences"),
		Long: "Set the reply preferences: tone, style, language and form of address. WORDS is the text, or - for " +
			"standard input. The preferences take effect in the next prompt session, at the latest after " +
			"CAIRN_SESSION_TTL (30 minutes). They never override the rules of the system prompt. Earlier versions " +
			"are kept.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.text(args)
			if err != nil {
				return err
			}
			in := memories.SoulArgs{Content: text, Mode: string(memory.SoulReplace),
				Expected: optional(cmd, "expect", &expect)}
			if add {
				in.Mode = string(memory.SoulAppend)
			}
			return c.changeSoul(cmd.Context(), func(s *session) (memories.SoulResult, error) {
				return s.Memory.SoulUpdate(cmd.Context(), s.actor(), in)
			})
		}}
	set.Flags().BoolVar(&add, "append", false, "append to the current text")
	set.Flags().IntVar(&expect, "expect", 0, "fail unless this is the active version (default no check)")
	history := &cobra.Command{Use: "history", Short: "List the versions of the soul, newest first",
		Example: "  cairn soul history", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.soulHistory(cmd.Context()) }}
	var to int
	rollback := &cobra.Command{Use: "rollback --to VERSION",
		Short:   "Restore an earlier version of the soul",
		Long:    "Restore an earlier version of the soul as a new version. Version 0 is empty.",
		Example: "  cairn soul rollback --to 1", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("to") {
				return usageError{fmt.Errorf("missing --to: the version to restore")}
			}
			return c.changeSoul(cmd.Context(), func(s *session) (memories.SoulResult, error) {
				return s.Memory.SoulRollback(cmd.Context(), s.actor(),
					memories.RollbackArgs{Version: to, Expected: optional(cmd, "expect", &expect)})
			})
		}}
	rollback.Flags().IntVar(&to, "to", 0, "version to restore; 0 is the empty version (required)")
	rollback.Flags().IntVar(&expect, "expect", 0, "fail unless this is the active version (default no check)")
	cmd.AddCommand(get, set, history, rollback)
	return cmd
}

// optional returns the value of a flag, or nil if the flag is not set.
func optional(cmd *cobra.Command, flag string, value *int) *int {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return value
}

func (c *cli) showSoul(ctx context.Context) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		soul, err := s.Memory.SoulGet(ctx, s.actor())
		if err != nil {
			return err
		}
		switch {
		case c.output == "json":
			return c.printJSON(map[string]any{"soul": soul})
		case soul.Content != "":
			fmt.Fprintln(c.out, soul.Content)
		case c.output != "text":
			fmt.Fprintln(c.out, "no reply preferences; set them with `cairn soul set WORDS`")
		}
		if c.output == "table" && soul.Version > 0 {
			fmt.Fprintf(c.out, "— version %d, by %s\n", soul.Version, soul.Origin)
		}
		return nil
	})
}

func (c *cli) changeSoul(ctx context.Context, change func(*session) (memories.SoulResult, error)) error {
	return c.withSession(ctx, needs{make: true}, func(s *session) error {
		w, err := change(s)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(w)
		}
		fmt.Fprintf(c.out, "%s: version %d, effective from the next prompt session\n", w.Action, w.Version)
		for _, warning := range w.Warnings {
			fmt.Fprintf(c.errs, "  %s\n", warning)
		}
		return nil
	})
}

func (c *cli) soulHistory(ctx context.Context) error {
	const most = 1000
	return c.withSession(ctx, needs{}, func(s *session) error {
		versions, err := s.Memory.SoulHistory(ctx, s.actor(), most)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"versions": append([]memory.Soul{}, versions...)})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "VERSION\tCHANGE\tCREATED\tBY\tCONTENT")
		for _, v := range versions {
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", v.Version, v.Action, v.CreatedAt.Local().Format(time.DateTime),
				v.Origin, short(oneLine(v.Content)))
		}
		return tw.Flush()
	})
}
