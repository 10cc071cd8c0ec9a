package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cairn/internal/service/learning/bank"
)

func (c *cli) bank() *cobra.Command {
	cmd := &cobra.Command{Use: "bank", Short: "Show and change the banks of memory skills", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Long: "Show and change the banks of memory skills: instructions by which conversations become memories, " +
			"with the policy\nthat chooses among them. Both are one version, and go forward and back together."}
	var name string
	cmd.PersistentFlags().StringVar(&name, "bank", bank.Default, "name of the bank")
	list := &cobra.Command{Use: "list", Short: "List the banks", Example: "  cairn bank list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listBanks(cmd.Context()) }}
	updates := &cobra.Command{Use: "updates",
		Short:   "Show what the policy has learnt from live decisions, and how that fares",
		Example: "  cairn bank updates\n  cairn bank updates -o json", Args: cobra.NoArgs,
		Long: "Show what the policy of a bank has learnt from live decisions, the latest first. An update is " +
			"compared in the shadow,\ntried on canary by a share of the live builds, and then promoted to a version " +
			"or dropped.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.bankUpdates(cmd.Context(), name) }}
	probes := &cobra.Command{Use: "probes", Short: "Show what memory has asked itself, and how it answered",
		Example: "  cairn settings set memory.learning.probes_per_day=30\n  cairn bank probes", Args: cobra.NoArgs,
		Long: "Show the questions that memory has asked itself, of the latest session first: made from what it had " +
			"just remembered,\nput to memory, and scored by the share of the answer's words in what is found. There " +
			"are none unless the setting\nmemory.learning.probes_per_day is above 0.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.bankProbes(cmd.Context(), name) }}
	cmd.AddCommand(list, c.bankShow(&name), updates, probes, c.bankDiff(&name), c.bankRollback(&name),
		c.bankExport(&name), c.bankImport(&name), c.bankFollow(&name))
	return cmd
}

// bankShow shows a bank or its versions.
func (c *cli) bankShow(name *string) *cobra.Command {
	var number int
	var history bool
	show := &cobra.Command{Use: "show", Short: "Show the skills of a bank, or its versions",
		Example: "  cairn bank show\n  cairn bank show --history\n  cairn bank show --version 1 -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.showBank(cmd.Context(), *name, number, history)
		}}
	show.Flags().IntVar(&number, "version", 0, "the version to show (default: the one in force)")
	show.Flags().BoolVar(&history, "history", false, "list the versions, the newest first")
	return show
}

// bankDiff compares two versions.
func (c *cli) bankDiff(name *string) *cobra.Command {
	var from, to int
	diff := &cobra.Command{Use: "diff --from VERSION", Short: "Show what changed between two versions",
		Example: "  cairn bank diff --from 1", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.diffBank(cmd.Context(), *name, from, to) }}
	diff.Flags().IntVar(&from, "from", 1, "the older version")
	diff.Flags().IntVar(&to, "to", 0, "the newer version (default: the one in force)")
	return diff
}

// bankRollback goes back to a version.
func (c *cli) bankRollback(name *string) *cobra.Command {
	var back int
	rollback := &cobra.Command{Use: "rollback --to VERSION", Short: "Go back to what a bank and its policy were",
		Example: "  cairn bank rollback --to 1", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if back < 1 {
				return usageError{fmt.Errorf("--to is missing: the version to go back to")}
			}
			return c.changeBank(cmd.Context(), func(ctx context.Context, s *session) (bank.Head, error) {
				return s.Learning.Banks.Rollback(ctx, s.workspace.ID, *name, back)
			})
		}}
	rollback.Flags().IntVar(&back, "to", 0, "the version to go back to")
	return rollback
}

// bankExport writes the skills of a bank to files.
func (c *cli) bankExport(name *string) *cobra.Command {
	var number int
	export := &cobra.Command{Use: "export FOLDER", Short: "Write the skills of a bank as Markdown files",
		Example: "  cairn bank export memory-skills/", Args: exactly(1, "the folder to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.exportBank(cmd.Context(), *name, number, args[0])
		}}
	export.Flags().IntVar(&number, "version", 0, "the version to export (default: the one in force)")
	return export
}

// bankImport reads skills from files.
func (c *cli) bankImport(name *string) *cobra.Command {
	imports := &cobra.Command{Use: "import FOLDER", Short: "Read the Markdown files of a folder into a bank",
		Example: "  cairn bank import memory-skills/ --bank work",
		Long: "Read the Markdown files of a folder into a bank, which is made when it is not there. A skill that " +
			"the bank has not is\nadded, one that says something else is refined. All files are read in, or none is.",
		Args: exactly(1, "the folder to read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := markdownIn(args[0])
			if err != nil {
				return err
			}
			return c.changeBank(cmd.Context(), func(ctx context.Context, s *session) (bank.Head, error) {
				return s.Learning.Banks.Import(ctx, s.workspace.ID, *name, files)
			})
		}}
	return imports
}

// bankFollow bases a bank on a shared one.
func (c *cli) bankFollow(name *string) *cobra.Command {
	var shared string
	follow := &cobra.Command{Use: "follow",
		Short:   "Base a bank on one that workspaces share, with its own skills laid over",
		Example: "  cairn bank follow\n  cairn bank follow --bank work --shared default",
		Long: "Base a bank on one of the workspace \"" + bank.SharedWorkspace + "\": its skills as they are there " +
			"now, but a skill of the bank's own stands in place of one\nof its *name, or beside them. Do it again to " +
			"get what is new there. Nothing of this workspace goes there.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.changeBank(cmd.Context(), func(ctx context.Context, s *session) (bank.Head, error) {
				from, err := s.Store.Workspace(ctx, bank.SharedWorkspace, false)
				if err != nil {
					return bank.Head{}, err
				}
				return s.Learning.Banks.Follow(ctx,
					bank.FollowRequest{Workspace: s.workspace.ID, Bank: *name, Shared: from.ID, From: shared})
			})
		}}
	follow.Flags().StringVar(&shared, "shared", bank.Default, "name of the bank there")
	return follow
}
