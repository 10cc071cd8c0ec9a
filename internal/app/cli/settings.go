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
	cmd := &cobra.Command{Use: "settings", Short: "Show and change what the workspace chose for itself",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	show := &cobra.Command{Use: "show", Short: "Show the workspace's settings, defaults included",
		Example: "  cairn settings show", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.settle(cmd.Context(), false, func(ctx context.Context, q postgres.Tx) (settings.Settings, error) {
				return q.Workspaces().Settings(ctx)
			})
		}}
	set := &cobra.Command{Use: "set NAME=VALUE...",
		Short: "Change settings of the workspace; the value default gives one its default back",
		Long: "Change settings of the workspace. `cairn settings show` has their names. With - instead of names, " +
			"standard input holds\na JSON merge patch.",
		Example: "  cairn settings set time_zone=Asia/Shanghai nudge.every=5\n  cairn settings set " +
			"nudge.every=default\n  cat settings.json | cairn settings set -", Args: someText("NAME=VALUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := c.patch(args)
			if err != nil {
				return err
			}
			return c.settle(cmd.Context(), true, func(ctx context.Context, q postgres.Tx) (settings.Settings, error) {
				return q.Workspaces().PatchSettings(cmd.Context(), patch)
			})
		}}
	cmd.AddCommand(show, set)
	return cmd
}

// patch makes a JSON merge patch of NAME=VALUE.
func (c *cli) patch(args []string) (json.RawMessage, error) {
	if len(args) == 1 && args[0] == "-" {
		text, err := c.text(args)
		return json.RawMessage(text), err
	}
	patch := map[string]any{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("%q is no NAME=VALUE", arg)}
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

// valueOf is a number, true or false where it looks like one, else a text.
func valueOf(text string) any {
	if text == "default" {
		return nil
	}
	if raw := json.RawMessage(text); json.Valid(raw) && text[0] != '"' && text != "null" {
		return raw
	}
	return text
}

func (c *cli) settle(ctx context.Context, changed bool,
	do func(context.Context, postgres.Tx) (settings.Settings, error)) error {
	return c.looking(ctx, needs{make: true}, func(s *session) error {
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

// flatten names nested members by their path.
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
