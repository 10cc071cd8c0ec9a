package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

const sampleSkill = "update-reservation-flights"

// changes returns the commands that read a skill's versions and change its state.
func (c *cli) changes() []*cobra.Command {
	history := &cobra.Command{Use: "history SKILL", Short: "List the versions of a skill, newest first",
		Example: "  cairn skills history " + sampleSkill, Args: exactly(1, "the skill's name or number"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.skillHistory(cmd.Context(), args[0]) }}
	archive := c.changeState("archive", "Archive a skill",
		func(l *library.Library) stateChange { return l.Archive })
	restore := &cobra.Command{Use: "restore SKILL",
		Short:   "Restore an archived, quarantined or deleted skill",
		Example: "  cairn skills restore " + sampleSkill, Args: exactly(1, "the skill's name or number"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.restore(cmd.Context(), args[0]) }}
	adopt := c.changeState("adopt", "Allow automatic changes of a skill",
		func(l *library.Library) stateChange {
			return func(ctx context.Context, ws, id int64) (skill.Head, error) { return l.Manage(ctx, ws, id, true) }
		})
	release := c.changeState("release", "Forbid automatic changes of a skill",
		func(l *library.Library) stateChange {
			return func(ctx context.Context, ws, id int64) (skill.Head, error) { return l.Manage(ctx, ws, id, false) }
		})
	trust := c.changeState("trust", "Mark untrusted text in a skill as reviewed",
		func(l *library.Library) stateChange { return l.Trust })
	pin := c.changeState("pin", "Pin a skill against automatic changes",
		func(l *library.Library) stateChange {
			return func(ctx context.Context, ws, id int64) (skill.Head, error) { return l.Pin(ctx, ws, id, true) }
		})
	unpin := c.changeState("unpin", "Unpin a skill",
		func(l *library.Library) stateChange {
			return func(ctx context.Context, ws, id int64) (skill.Head, error) { return l.Pin(ctx, ws, id, false) }
		})
	return []*cobra.Command{history, c.diffSkills(), c.rollbackSkill(), archive, restore, pin, unpin, adopt, release,
		trust, c.voteSkill(), c.importSkill()}
}

func (c *cli) diffSkills() *cobra.Command {
	var from, to int
	diff := &cobra.Command{Use: "diff SKILL", Short: "Compare two versions of a skill",
		Example: "  cairn skills diff " + sampleSkill + "\n  cairn skills diff " + sampleSkill + " --from 1 --to 1",
		Args:    exactly(1, "the skill's name or number"), RunE: func(cmd *cobra.Command, args []string) error {
			return c.skillDiff(cmd.Context(), args[0], from, to)
		}}
	diff.Flags().IntVar(&from, "from", 0, "older version (default the base of the newer version)")
	diff.Flags().IntVar(&to, "to", 0, "newer version (default the active version)")
	return diff
}

func (c *cli) rollbackSkill() *cobra.Command {
	var to, base int
	rollback := &cobra.Command{Use: "rollback SKILL --to VERSION",
		Short:   "Restore the text of an earlier version",
		Example: "  cairn skills rollback " + sampleSkill + " --to 1",
		Args:    exactly(1, "the skill's name or number"), RunE: func(cmd *cobra.Command, args []string) error {
			if to < 1 {
				return usageError{fmt.Errorf("missing --to: the version to restore")}
			}
			return c.change(cmd.Context(), args[0],
				func(ctx context.Context, s *session, h skill.Head) (skill.Head, error) {
					return s.Library.Rollback(ctx, s.workspace.ID, h.ID, to, base)
				})
		}}
	rollback.Flags().IntVar(&to, "to", 0, "version to restore (required)")
	rollback.Flags().IntVar(&base, "base", 0, "fail unless this is the active version (default no check)")
	return rollback
}

// stateChange changes the state of a skill of a workspace and returns the new head.
type stateChange func(ctx context.Context, ws, id int64) (skill.Head, error)

// changeState returns a command that changes the state of one skill.
func (c *cli) changeState(use, short string, do func(*library.Library) stateChange) *cobra.Command {
	return &cobra.Command{Use: use + " SKILL", Short: short, Example: "  cairn skills " + use + " " + sampleSkill,
		Args: exactly(1, "the skill's name or number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.change(cmd.Context(), args[0],
				func(ctx context.Context, s *session, h skill.Head) (skill.Head, error) {
					return do(s.Library)(ctx, s.workspace.ID, h.ID)
				})
		}}
}

// change finds a skill, changes it and prints its new head.
func (c *cli) change(ctx context.Context, name string,
	fn func(context.Context, *session, skill.Head) (skill.Head, error)) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	head, _, err := s.version(ctx, name, 0)
	if err != nil {
		return err
	}
	if head, err = fn(ctx, s, head); err != nil {
		return err
	}
	return c.printHead(head)
}

// restore also finds deleted skills, which lists do not show.
func (c *cli) restore(ctx context.Context, name string) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	head, err := s.Library.RestoreNamed(ctx, s.workspace.ID, name)
	if err != nil {
		return err
	}
	return c.printHead(head)
}

func (c *cli) printHead(h skill.Head) error {
	if c.output == "json" {
		return c.printJSON(map[string]any{"skill": h})
	}
	pinned := ""
	if h.Pinned {
		pinned = ", pinned"
	}
	fmt.Fprintf(c.out, "%s: version %d, %s%s\n", h.Name, h.Version, h.Status, pinned)
	return nil
}

func (c *cli) skillHistory(ctx context.Context, name string) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	head, _, err := s.version(ctx, name, 0)
	if err != nil {
		return err
	}
	const most = 1000
	versions, err := s.Library.History(ctx, s.workspace.ID, head.ID, most)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"name": head.Name, "versions": versions})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "VERSION\tBASE\tCREATED\tBY\tRUN\tCHANGE")
	for _, v := range versions {
		fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%s\t%s\n", v.Number, v.Base, v.CreatedAt.Local().Format(time.DateTime),
			v.Origin, v.Run, v.ChangeSummary)
	}
	return tw.Flush()
}

func (c *cli) skillDiff(ctx context.Context, name string, from, to int) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	head, _, err := s.version(ctx, name, 0)
	if err != nil {
		return err
	}
	text, err := s.Library.Diff(ctx, s.workspace.ID, head.ID, from, to)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"name": head.Name, "from": from, "to": to, "diff": text})
	}
	if text == "" {
		text = "no difference\n"
	}
	fmt.Fprint(c.out, text)
	return nil
}

func (c *cli) importSkill() *cobra.Command {
	var trust bool
	var override approval.Override
	cmd := &cobra.Command{
		Use:   "import ZIP",
		Short: "Import a skill package",
		Long: "Import a skill package from a zip file (- for standard input). An imported skill waits for " +
			"approval in " +
			"`cairn inbox`. To activate it immediately, add --trust; blocking findings then need --override " +
			"and --reason.",
		Example: "  cairn skills import weather-report.zip\n  cairn skills import weather-report.zip --trust",
		Args:    exactly(1, "the zip to import"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !trust {
				return c.runImport(cmd.Context(), args[0], nil)
			}
			return c.runImport(cmd.Context(), args[0], &override)
		},
	}
	cmd.Flags().BoolVar(&trust, "trust", false, "activate the skill without approval")
	addOverride(cmd, &override)
	return cmd
}

func (c *cli) runImport(ctx context.Context, file string, trust *approval.Override) error {
	in, err := c.input(file, "the package", "pass the path of a zip file, or - for standard input")
	if err != nil {
		return err
	}
	defer in.Close()
	archive, err := io.ReadAll(io.LimitReader(in, skill.MaxPackage+1))
	if err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "read the package", "")
	}
	if len(archive) > skill.MaxPackage {
		return fault.New(fault.TooLarge, "the package exceeds "+strconv.Itoa(skill.MaxPackage)+" bytes",
			"remove files from the package")
	}
	s, err := c.open(ctx, needs{make: true})
	if err != nil {
		return err
	}
	defer s.close()
	got, err := s.Library.Import(ctx, s.workspace.ID, archive, "import", trust)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(got)
	}
	switch {
	case got.Same:
		fmt.Fprintf(c.out, "%s is unchanged: version %d has the same content\n", got.Head.Name, got.Head.Version)
	case got.Pending != 0:
		fmt.Fprintf(c.out, "the change of %s waits for approval: to read it, run `cairn inbox show c%d`\n",
			got.Head.Name, got.Pending)
	case got.Head.Status == skill.Candidate:
		fmt.Fprintf(c.out, "%s is a candidate: to read and approve it, run `cairn inbox show s%d`\n", got.Head.Name,
			got.Head.ID)
	default:
		return c.printHead(got.Head)
	}
	return nil
}
