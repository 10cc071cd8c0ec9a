package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
)

func (c *cli) settings() *cobra.Command {
	cmd := &cobra.Command{Use: "settings", Short: "Show and change the settings of a workspace",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	show := &cobra.Command{Use: "show [NAME]...", Short: "Show settings, including defaults",
		Long: "Show settings, including defaults: all of them, or those that you name. NAME is a setting or a " +
			"group. docs/reference/settings.md describes each setting.",
		Example: "  cairn settings show\n  cairn settings show nudge time_zone\n  cairn settings show --output json",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.showSettings(cmd.Context(), args) }}
	set := &cobra.Command{
		Use:   "set NAME=VALUE...",
		Short: "Change settings of the workspace",
		Long: "Change settings of the workspace and show those that changed. `cairn settings show` lists all names. " +
			"The value `default` restores the default. With - as the only argument, standard input " +
			"holds a JSON merge patch.",
		Example: "  cairn settings set time_zone=Asia/Shanghai nudge.every=5\n  cairn settings set " +
			"nudge.every=default\n  cat settings.json | cairn settings set -",
		Args: someText("NAME=VALUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := c.patch(args)
			if err != nil {
				return err
			}
			return c.applyPatch(cmd.Context(), patch)
		},
	}
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

// applyPatch changes settings, checks them and prints those that differ.
func (c *cli) applyPatch(ctx context.Context, patch json.RawMessage) error {
	return c.withSession(ctx, needs{make: c.workspace == ""}, func(s *session) error {
		var before, after settings.Settings
		err := s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) (err error) {
			if before, err = q.Workspaces().Settings(ctx); err != nil {
				return err
			}
			if after, err = q.Workspaces().PatchSettings(ctx, patch); err != nil {
				return err
			}
			return s.Progressive.Registry.Check(after.Memory)
		})
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(settings.DocumentOf(after))
		}
		was, err := settingRows(before)
		if err != nil {
			return err
		}
		rows, err := settingRows(after)
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(r settingRow) bool { return slices.Contains(was, r) })
		if len(rows) == 0 {
			fmt.Fprintln(c.out, "no setting changed")
			return nil
		}
		return c.printSettings(rows)
	})
}

// showSettings prints the settings whose names are given or in a given group; all without names.
func (c *cli) showSettings(ctx context.Context, names []string) error {
	return c.withSession(ctx, needs{make: c.workspace == ""}, func(s *session) error {
		var chosen settings.Settings
		err := s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) (err error) {
			chosen, err = q.Workspaces().Settings(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if c.output == "json" && len(names) == 0 {
			return c.printJSON(settings.DocumentOf(chosen))
		}
		rows, err := settingRows(chosen)
		if err != nil {
			return err
		}
		if rows, err = selectRows(rows, names); err != nil {
			return err
		}
		if c.output == "json" {
			values := map[string]json.RawMessage{}
			for _, r := range rows {
				values[r.name] = json.RawMessage(r.raw)
			}
			return c.printJSON(values)
		}
		return c.printSettings(rows)
	})
}

// settingRow is a setting with its value as JSON.
type settingRow struct{ name, raw string }

// settingRows lists the settings by name.
func settingRows(s settings.Settings) ([]settingRow, error) {
	raw, err := json.Marshal(settings.DocumentOf(s))
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("decode the settings: %w", err)
	}
	var rows []settingRow
	flatten("", members, &rows)
	slices.SortFunc(rows, func(a, b settingRow) int { return strings.Compare(a.name, b.name) })
	return rows, nil
}

// selectRows returns the rows of the named settings and groups.
func selectRows(rows []settingRow, names []string) ([]settingRow, error) {
	if len(names) == 0 {
		return rows, nil
	}
	var out []settingRow
	for _, name := range names {
		found := slices.DeleteFunc(slices.Clone(rows), func(r settingRow) bool {
			return r.name != name && !strings.HasPrefix(r.name, name+".")
		})
		if len(found) == 0 {
			return nil, fault.New(fault.NotFound, fmt.Sprintf("unknown setting %q", name),
				"`cairn settings show` lists all settings")
		}
		out = append(out, found...)
	}
	return out, nil
}

func (c *cli) printSettings(rows []settingRow) error {
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SETTING\tVALUE")
	for _, r := range rows {
		fmt.Fprintf(tw, "%s\t%s\n", r.name, strings.Trim(r.raw, `"`))
	}
	return tw.Flush()
}

// flatten appends one row for each leaf, named by its dotted path.
func flatten(path string, members map[string]json.RawMessage, rows *[]settingRow) {
	for name, raw := range members {
		var below map[string]json.RawMessage
		if json.Unmarshal(raw, &below) == nil {
			flatten(path+name+".", below, rows)
			continue
		}
		*rows = append(*rows, settingRow{name: path + name, raw: string(raw)})
	}
}
