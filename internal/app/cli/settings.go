package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/settings"
)

func (c *cli) settings() *cobra.Command {
	cmd := &cobra.Command{Use: "settings", Short: "Show and change the settings of a workspace",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	show := &cobra.Command{Use: "show", Short: "Show the settings, including defaults",
		Long:    "Show the settings, including defaults. docs/reference/settings.md describes each of them.",
		Example: "  cairn settings show\n  cairn settings show --output json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.applySettings(
				cmd.Context(),
				false,
				func(ctx context.Context, q postgres.Tx) (settings.Settings, error) {
					return q.Workspaces().Settings(ctx)
				},
			)
		}}
	set := &cobra.Command{Use: "set NAME=VALUE...",
		Short: "Change settings of the workspace",
		Long: "Change settings of the workspace. `cairn settings show` lists their names. The value `default` " +
			"restores the default. With - as the only argument, standard input holds a JSON merge patch.",
		Example: "  cairn settings set time_zone=Asia/Shanghai nudge.every=5\n  cairn settings set " +
			"nudge.every=default\n  cat settings.json | cairn settings set -", Args: someText("NAME=VALUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := c.patch(args)
			if err != nil {
				return err
			}
			return c.applySettings(
				cmd.Context(),
				true,
				func(ctx context.Context, q postgres.Tx) (settings.Settings, error) {
					return q.Workspaces().PatchSettings(cmd.Context(), patch)
				},
			)
		}}
	cmd.AddCommand(show, set)
	return cmd
}

// patch converts NAME=VALUE arguments to a JSON merge patch.
func (c *cli) patch(args []string) (json.RawMessage, error) {
	if len(args) == 1 && args[0] == "-" {
		text, err := c.text(args)
		return json.RawMessage(text), err
	}
	patch := map[string]any{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("invalid setting %q: use NAME=VALUE, such as nudge.every=5", arg)}
		}
		at, steps := patch, strings.Split(name, ".")
		for _, step := range steps[:len(steps)-1] {
			below, _ := at[step].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			at[step], at = below, below
		}
		at[steps[len(steps)-1]] = valueOf(value)
	}
	return json.Marshal(patch)
}

// valueOf returns null for "default", the text itself if it is JSON other than a string, else a string.
func valueOf(text string) any {
	if text == "default" {
		return nil
	}
	if raw := json.RawMessage(text); json.Valid(raw) && text[0] != '"' && text != "null" {
		return raw
	}
	return text
}

// applySettings runs do, checks changed settings and prints the result.
func (c *cli) applySettings(ctx context.Context, changed bool,
	do func(context.Context, postgres.Tx) (settings.Settings, error)) error {
	return c.withSession(ctx, needs{make: true}, func(s *session) error {
		var out settings.Settings
		err := s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q postgres.Tx) (err error) {
			if out, err = do(ctx, q); err == nil && changed {
				err = s.Progressive.Registry.Check(out.Memory)
			}
			return err
		})
		if err != nil {
			return err
		}
		document := settings.DocumentOf(out)
		if c.output == "json" {
			return c.printJSON(document)
		}
		raw, err := json.Marshal(document)
		if err != nil {
			return fmt.Errorf("encode the settings: %w", err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return fmt.Errorf("decode the settings: %w", err)
		}
		var rows []string
		flatten("", members, &rows)
		slices.Sort(rows)
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "SETTING\tVALUE")
		for _, row := range rows {
			fmt.Fprintln(tw, row)
		}
		return tw.Flush()
	})
}

// flatten appends one row for each leaf, named by its dotted path.
func flatten(path string, members map[string]json.RawMessage, rows *[]string) {
	for name, raw := range members {
		var below map[string]json.RawMessage
		if json.Unmarshal(raw, &below) == nil {
			flatten(path+name+".", below, rows)
			continue
		}
		*rows = append(*rows, fmt.Sprintf("%s%s\t%s", path, name, strings.Trim(string(raw), `"`)))
	}
}
