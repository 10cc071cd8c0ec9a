package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

// writes are the commands by which a person writes skills: what the tools
// skill_save, skill_patch and skill_delete do for a model.
func (c *cli) writes() []*cobra.Command {
	var in library.SaveArgs
	var category string
	save := &cobra.Command{Use: "save FILE",
		Short: "Create a skill, or replace the text of one, from a SKILL.md (- for standard input)",
		Long: "Create a skill, or replace the text of one. Name and description are those of the file's frontmatter " +
			"unless flags say otherwise;\n" +
			"the text needs the headings ## When to Use, ## Procedure, ## Pitfalls and ## Verification. `cairn " +
			"skills view SKILL -o text` prints such a file.",
		Example: "  cairn skills save SKILL.md\n  cat SKILL.md | cairn skills save - --name deploy-api --category " +
			"operations --allow-similar", Args: exactly(1, "the SKILL.md to save"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Category = library.Choice{Given: cmd.Flags().Changed("category"), Text: category}
			return c.saveSkill(cmd.Context(), args[0], in)
		}}
	save.Flags().StringVar(&in.Name, "name", "", "its name (default: the file's)")
	save.Flags().StringVar(&in.Description, "description", "",
		"one line that tells when it helps (default: the file's)")
	save.Flags().StringVar(&category, "category", "", "its category, empty for none (default: the one that it has)")
	save.Flags().StringVar(&in.Mode, "mode", library.Upsert, "upsert, create or update")
	save.Flags().IntVar(&in.ExpectedVersion, "expected-version", 0, "refuse unless this version is in force")
	save.Flags().BoolVar(&in.AllowSimilar, "allow-similar", false, "create it although a skill much like it is there")
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
			"give --name, or begin the file with --- and a line name: …")
	}
	in.Name, in.Description, in.Content = cmp.Or(in.Name, skill.Canonical(front.Name)),
		cmp.Or(in.Description, front.Description), body
	return c.looking(ctx, needs{}, func(s *session) error {
		out, err := s.Library.Save(ctx, s.person(), in)
		if err != nil {
			return err
		}
		return c.wrote(out, out.Action, out.Name, out.Version, out.PendingID, out.Warnings)
	})
}

func (c *cli) patchSkill() *cobra.Command {
	var in library.PatchArgs
	cmd := &cobra.Command{Use: "patch SKILL --old TEXT [--new TEXT]", Short: "Replace a quoted text in a skill",
		Example: `  cairn skills patch deploy-api --old "Probe it." --new "Probe it twice."`,
		Args:    exactly(1, "the skill's name"), RunE: func(cmd *cobra.Command, args []string) error {
			if in.OldString == "" {
				return usageError{fmt.Errorf("--old is missing: the text to replace")}
			}
			in.Name = args[0]
			return c.looking(cmd.Context(), needs{}, func(s *session) error {
				out, err := s.Library.Patch(cmd.Context(), s.person(), in)
				if err != nil {
					return err
				}
				return c.wrote(out, out.Action, out.Name, out.Version, out.PendingID, out.Warnings)
			})
		}}
	cmd.Flags().StringVar(&in.OldString, "old", "", "the text to replace, with enough around it to occur once")
	cmd.Flags().StringVar(&in.NewString, "new", "", "what stands there afterwards; empty deletes")
	cmd.Flags().BoolVar(&in.ReplaceAll, "all", false, "replace every place, not only one")
	cmd.Flags().StringVar(&in.Field, "field", library.FieldContent, "content or description")
	cmd.Flags().IntVar(&in.ExpectedVersion, "expected-version", 0, "refuse unless this version is in force")
	return cmd
}

func (c *cli) deleteSkill() *cobra.Command {
	var in library.DeleteArgs
	cmd := &cobra.Command{Use: "delete SKILL",
		Short:   "Delete a skill; `cairn skills restore` takes it back for some days",
		Example: "  cairn skills delete deploy-cron --reason \"we deploy no more\"",
		Args:    exactly(1, "the skill's name"), RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return c.looking(cmd.Context(), needs{}, func(s *session) error {
				out, err := s.Library.Delete(cmd.Context(), s.person(), in)
				if err != nil {
					return err
				}
				return c.wrote(out, out.Action, out.Name, 0, out.PendingID, out.Warnings)
			})
		}}
	cmd.Flags().StringVar(&in.AbsorbedInto, "absorbed-into", "", "the other skill that says now what this one said")
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, in one sentence")
	cmd.Flags().IntVar(&in.ExpectedVersion, "expected-version", 0, "refuse unless this version is in force")
	return cmd
}

// wrote prints what became of a write: result as JSON, else a line, and one more
// for each warning.
func (c *cli) wrote(result any, action, name string, version int, pending int64, warnings []string) error {
	if c.output == "json" {
		return c.printJSON(result)
	}
	line := name + ": " + action
	if version > 0 {
		line += fmt.Sprintf(", version %d", version)
	}
	if pending > 0 {
		line += fmt.Sprintf("; change %d waits for `cairn skills approve`", pending)
	}
	fmt.Fprintln(c.out, line)
	for _, w := range warnings {
		fmt.Fprintln(c.errs, "note: "+w)
	}
	return nil
}

// markdown reads a SKILL.md, or standard input for a dash.
func (c *cli) markdown(file string) ([]byte, error) {
	in := c.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fault.Wrap(err, fault.NotFound, "the SKILL.md cannot be read",
				"give the path of a file, or - for standard input")
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, mostText+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, "the SKILL.md cannot be read", "")
	}
	if len(raw) > mostText {
		return nil, fault.New(fault.TooLarge, "the SKILL.md has more than "+strconv.Itoa(mostText)+" bytes", "")
	}
	return raw, nil
}
