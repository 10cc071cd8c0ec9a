package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

const sampleSkill = "update-reservation-flights"

// changes are the commands that look at a skill's versions and change its state.
func (c *cli) changes() []*cobra.Command {
	history := &cobra.Command{Use: "history SKILL", Short: "List a skill's versions, the latest first",
		Example: "  cairn skills history " + sampleSkill, Args: exactly(1, "the skill's name or number"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.skillHistory(cmd.Context(), args[0]) }}
	archive := c.changeState("archive", "Take a skill out of use; it keeps its name and its history",
		func(l *library.Library) stateChange { return l.Archive })
	restore := &cobra.Command{Use: "restore SKILL",
		Short:   "Put a skill back into use that was archived, quarantined or deleted",
		Example: "  cairn skills restore " + sampleSkill, Args: exactly(1, "the skill's name or number"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.restore(cmd.Context(), args[0]) }}
	adopt := c.changeState("adopt", "Let autonomous writers change a skill",
		func(l *library.Library) stateChange {
			return func(ctx context.Context, ws, id int64) (skill.Head, error) { return l.Manage(ctx, ws, id, true) }
		})
	release := c.changeState("release", "Take a skill from the autonomous writers",
		func(l *library.Library) stateChange {
			return func(ctx context.Context, ws, id int64) (skill.Head, error) { return l.Manage(ctx, ws, id, false) }
		})
	trust := c.changeState("trust", "Say that untrusted text in a skill has been looked at",
		func(l *library.Library) stateChange { return l.Trust })
	pin := c.changeState("pin", "Freeze a skill against every change that no person makes",
		func(l *library.Library) stateChange {
			return func(ctx context.Context, ws, id int64) (skill.Head, error) { return l.Pin(ctx, ws, id, true) }
		})
	unpin := c.changeState("unpin", "Let a pinned skill change again",
		func(l *library.Library) stateChange {
			return func(ctx context.Context, ws, id int64) (skill.Head, error) { return l.Pin(ctx, ws, id, false) }
		})
	return []*cobra.Command{history, c.diffSkills(), c.rollbackSkill(), archive, restore, pin, unpin, adopt, release,
		trust, c.pending(), c.decide("approve", "Approve a candidate, a draft, or a change that waits"),
		c.decide("reject", "Reject a candidate, a draft, or a change that waits"), c.importSkill()}
}

func (c *cli) diffSkills() *cobra.Command {
	var from, to int
	diff := &cobra.Command{Use: "diff SKILL", Short: "Show what changed between two versions of a skill",
		Example: "  cairn skills diff " + sampleSkill + "\n  cairn skills diff " + sampleSkill + " --from 1 --to 1",
		Args:    exactly(1, "the skill's name or number"), RunE: func(cmd *cobra.Command, args []string) error {
			return c.skillDiff(cmd.Context(), args[0], from, to)
		}}
	diff.Flags().IntVar(&from, "from", 0, "the older version (default: the one that the newer was made on)")
	diff.Flags().IntVar(&to, "to", 0, "the newer version (default: the one in force)")
	return diff
}

func (c *cli) rollbackSkill() *cobra.Command {
	var to, base int
	rollback := &cobra.Command{Use: "rollback SKILL --to VERSION",
		Short:   "Make a new version that says what an old one said",
		Example: "  cairn skills rollback " + sampleSkill + " --to 1",
		Args:    exactly(1, "the skill's name or number"), RunE: func(cmd *cobra.Command, args []string) error {
			if to < 1 {
				return usageError{fmt.Errorf("--to is missing: the version to go back to")}
			}
			return c.change(cmd.Context(), args[0],
				func(ctx context.Context, s *session, h skill.Head) (skill.Head, error) {
					return s.Library.Rollback(ctx, s.workspace.ID, h.ID, to, base)
				})
		}}
	rollback.Flags().IntVar(&to, "to", 0, "the version to go back to")
	rollback.Flags().IntVar(&base, "base", 0, "refuse unless this version is in force")
	return rollback
}

// stateChange changes the state of a skill of a workspace, and returns its head.
type stateChange func(ctx context.Context, ws, id int64) (skill.Head, error)

// changeState is a command that changes the state of one skill.
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

// change finds a skill, changes it and prints what it is now.
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

// restore finds what no list shows any more, too.
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
	fmt.Fprintln(tw, "VERSION\tON\tMADE\tBY\tRUN\tCHANGE")
	for _, v := range versions {
		fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%d\t%s\n", v.Number, v.Base, v.CreatedAt.Local().Format(time.DateTime),
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

func (c *cli) pending() *cobra.Command {
	return &cobra.Command{Use: "pending", Short: "List the changes that wait for approval",
		Example: "  cairn skills pending", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.open(cmd.Context(), needs{})
			if err != nil {
				return err
			}
			defer s.close()
			const most = 1000
			waiting, err := s.Library.PendingList(cmd.Context(), s.workspace.ID, most)
			if err != nil {
				return err
			}
			if c.output == "json" {
				return c.printJSON(map[string]any{"pending": waiting})
			}
			if len(waiting) == 0 {
				fmt.Fprintln(c.out, "no change waits; candidates and drafts are in `cairn skills list`")
				return nil
			}
			tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "CHANGE\tSKILL\tON\tSTATE\tSINCE\tBY\tWHY IT WAITS")
			for _, p := range waiting {
				fmt.Fprintf(tw, "%d\t%s\t%d\t%s\t%s\t%s\t%s\n", p.ID, p.Name, p.Base, p.State,
					p.CreatedAt.Local().Format(time.DateTime), p.Origin, p.Reason)
			}
			return tw.Flush()
		}}
}

// decide approves or rejects a candidate skill by its name, or a pending change
// by its number.
func (c *cli) decide(use, short string) *cobra.Command {
	var changeID int64
	cmd := &cobra.Command{Use: use + " [SKILL]", Short: short,
		Example: "  cairn skills " + use + " weather-report\n  cairn skills " + use + " --change 1",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (changeID != 0) == (len(args) == 1) {
				return usageError{fmt.Errorf("give the name of a candidate or a draft, or --change with a number of " +
					"`cairn skills pending`")}
			}
			if len(args) == 1 {
				return c.change(cmd.Context(), args[0],
					func(ctx context.Context, s *session, h skill.Head) (skill.Head, error) {
						if use == "approve" {
							return s.Library.Approve(ctx, s.workspace.ID, h.ID)
						}
						return s.Library.Reject(ctx, s.workspace.ID, h.ID)
					})
			}
			return c.decideChange(cmd.Context(), use, changeID)
		}}
	cmd.Flags().Int64Var(&changeID, "change", 0, "number of a change that waits")
	return cmd
}

func (c *cli) decideChange(ctx context.Context, use string, id int64) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	if use == "approve" {
		head, err := s.Library.ApproveChange(ctx, s.workspace.ID, id)
		if err != nil {
			return err
		}
		return c.printHead(head)
	}
	if err := s.Library.RejectChange(ctx, s.workspace.ID, id); err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"change": id, "state": "rejected"})
	}
	fmt.Fprintf(c.out, "change %d is rejected\n", id)
	return nil
}

func (c *cli) importSkill() *cobra.Command {
	var trust bool
	cmd := &cobra.Command{Use: "import ZIP",
		Short:   "Import a skill package (- for standard input); it waits for approval unless --trust says otherwise",
		Example: "  cairn skills import weather-report.zip\n  cairn skills import weather-report.zip --trust",
		Args:    exactly(1, "the zip to import"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.runImport(cmd.Context(), args[0], trust) }}
	cmd.Flags().BoolVar(&trust, "trust", false, "put it into force at once")
	return cmd
}

func (c *cli) runImport(ctx context.Context, file string, trust bool) error {
	in := c.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return fault.Wrap(err, fault.NotFound, "the package cannot be read",
				"give the path of a zip, or - for standard input")
		}
		defer f.Close()
		in = f
	}
	archive, err := io.ReadAll(io.LimitReader(in, skill.MaxPackage+1))
	if err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "the package cannot be read", "")
	}
	if len(archive) > skill.MaxPackage {
		return fault.New(fault.TooLarge, "the package has more than "+strconv.Itoa(skill.MaxPackage)+" bytes", "")
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
		fmt.Fprintf(c.out, "%s says all of it already, in version %d\n", got.Head.Name, got.Head.Version)
	case got.Pending != 0:
		fmt.Fprintf(c.out, "a change of %s waits: cairn skills approve --change %d\n", got.Head.Name, got.Pending)
	case got.Head.Status == skill.Candidate:
		fmt.Fprintf(c.out, "%s is a candidate: cairn skills approve %s\n", got.Head.Name, got.Head.Name)
	default:
		return c.printHead(got.Head)
	}
	return nil
}
