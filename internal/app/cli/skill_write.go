package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

// writes returns the commands with which users write skills. They correspond to the tools skill_save,
// skill_patch and skill_delete of agents.
func (c *cli) writes() []*cobra.Command {
	var in library.SaveArgs
	var category string
	save := &cobra.Command{Use: "save FILE",
		Short: "Create or replace a skill from a SKILL.md",
		Long: "Create a skill or replace its text from a SKILL.md (- for standard input). The name and the " +
			"description come from the frontmatter of the file unless you pass --name or --description. The text " +
			"needs the headings `## When to Use`, `## Procedure`, `## Pitfalls` and `## Verification`. To print " +
			"such a file, run `cairn skills view SKILL --output text`.",
		Example: "  cairn skills save SKILL.md\n  cat SKILL.md | cairn skills save - --name deploy-api --category " +
			"operations --allow-similar", Args: exactly(1, "the SKILL.md to save"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Category = library.Choice{Given: cmd.Flags().Changed("category"), Text: category}
			return c.saveSkill(cmd.Context(), args[0], in)
		}}
	save.Flags().StringVar(&in.Name, "name", "", "name of the skill (default from the file)")
	save.Flags().StringVar(&in.Description, "description", "",
		"one line that states when to use the skill (default from the file)")
	save.Flags().StringVar(&category, "category", "", "category of the skill, empty for none (default the current "+
		"one)")
	save.Flags().StringVar(&in.Mode, "mode", library.Upsert, "write mode: upsert, create or update")
	save.Flags().IntVar(&in.ExpectedVersion, "expected-version", 0, "fail unless this is the active version "+
		"(default no check)")
	save.Flags().BoolVar(&in.AllowSimilar, "allow-similar", false, "create the skill even if a similar one exists")
	return []*cobra.Command{save, c.patchSkill(), c.deleteSkill()}
}

func (c *cli) saveSkill(ctx context.Context, file string, in library.SaveArgs) error {
	raw, err := c.markdown(file)
	if err != nil {
		return err
	}
	front, body, err := skill.Split(raw)
	if err != nil {
		return err
	}
	if in.Name == "" && front.Name == "" {
		return fault.New(fault.InvalidArgument, "the skill has no name",
			"pass --name, or add a line `name: …` to the frontmatter of the file")
	}
	in.Name, in.Description, in.Content = cmp.Or(in.Name, skill.Canonical(front.Name)),
		cmp.Or(in.Description, front.Description), body
	return c.withSession(ctx, needs{}, func(s *session) error {
		out, err := s.Library.Save(ctx, s.actor(), in)
		if err != nil {
			return err
		}
		return c.printWrite(out, out.Action, out.Name, out.Version, out.PendingID, out.Warnings)
	})
}

func (c *cli) patchSkill() *cobra.Command {
	var in library.PatchArgs
	cmd := &cobra.Command{Use: "patch SKILL --old TEXT [--new TEXT]", Short: "Replace text in a skill",
		Example: `  cairn skills patch deploy-api --old "Probe it." --new "Probe it twice."`,
		Args:    exactly(1, "the skill's name"), RunE: func(cmd *cobra.Command, args []string) error {
			if in.OldString == "" {
				return usageError{fmt.Errorf("missing --old: the text to replace")}
			}
			in.Name = args[0]
			return c.withSession(cmd.Context(), needs{}, func(s *session) error {
				out, err := s.Library.Patch(cmd.Context(), s.actor(), in)
				if err != nil {
					return err
				}
				return c.printWrite(out, out.Action, out.Name, out.Version, out.PendingID, out.Warnings)
			})
		}}
	cmd.Flags().StringVar(&in.OldString, "old", "", "text to replace, which must occur exactly once (required)")
	cmd.Flags().StringVar(&in.NewString, "new", "", "replacement; empty deletes the text")
	cmd.Flags().BoolVar(&in.ReplaceAll, "all", false, "replace all occurrences")
	cmd.Flags().StringVar(&in.Field, "field", library.FieldContent, "field to change: content or description")
	cmd.Flags().IntVar(&in.ExpectedVersion, "expected-version", 0, "fail unless this is the active version "+
		"(default no check)")
	return cmd
}

func (c *cli) deleteSkill() *cobra.Command {
	var in library.DeleteArgs
	cmd := &cobra.Command{Use: "delete SKILL",
		Short: "Delete a skill",
		Long: "Delete a skill. For the days in the setting limits.undo_days, `cairn skills restore SKILL` restores " +
			"it.",
		Example: "  cairn skills delete deploy-cron --reason \"no longer deployed\"",
		Args:    exactly(1, "the skill's name"), RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return c.withSession(cmd.Context(), needs{}, func(s *session) error {
				out, err := s.Library.Delete(cmd.Context(), s.actor(), in)
				if err != nil {
					return err
				}
				return c.printWrite(out, out.Action, out.Name, 0, out.PendingID, out.Warnings)
			})
		}}
	cmd.Flags().StringVar(&in.AbsorbedInto, "absorbed-into", "", "name of the skill that now covers this one "+
		"(default none)")
	cmd.Flags().StringVar(&in.Reason, "reason", "", "reason in one sentence (default none)")
	cmd.Flags().IntVar(&in.ExpectedVersion, "expected-version", 0, "fail unless this is the active version "+
		"(default no check)")
	return cmd
}

// printWrite prints the result of a write: as JSON, or as one line and one more for each warning.
func (c *cli) printWrite(result any, action, name string, version int, pending int64, warnings []string) error {
	if c.output == "json" {
		return c.printJSON(result)
	}
	line := name + ": " + action
	if version > 0 {
		line += fmt.Sprintf(", version %d", version)
	}
	if pending > 0 {
		line += fmt.Sprintf("; it waits for approval: `cairn inbox show c%d`", pending)
	}
	fmt.Fprintln(c.out, line)
	for _, w := range warnings {
		fmt.Fprintln(c.errs, "note: "+w)
	}
	return nil
}

// markdown reads a SKILL.md, or standard input if file is "-".
func (c *cli) markdown(file string) ([]byte, error) {
	in, err := c.input(file, "the SKILL.md", "pass the path of a file, or - for standard input")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, "read the SKILL.md", "")
	}
	if len(raw) > maxText {
		return nil, fault.New(fault.TooLarge, "the SKILL.md exceeds "+strconv.Itoa(maxText)+" bytes",
			"shorten the file")
	}
	return raw, nil
}
