package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"cairn/internal/service/learning/bank"
)

func (c *cli) bank() *cobra.Command {
	cmd := &cobra.Command{Use: "bank", Short: "Show and change banks of memory skills", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Long: "Show and change banks of memory skills. A memory skill is an instruction for extracting memories " +
			"from conversations. A bank is a versioned set of memory skills, together with the policy that chooses " +
			"among them."}
	var name string
	cmd.PersistentFlags().StringVar(&name, "bank", bank.Default, "name of the bank")
	list := &cobra.Command{Use: "list", Short: "List the banks of the workspace", Example: "  cairn bank " +
		"list", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listBanks(cmd.Context()) }}
	updates := &cobra.Command{Use: "updates",
		Short:   "List policy updates learned from live decisions",
		Example: "  cairn bank updates\n  cairn bank updates --output json", Args: noArguments,
		Long: "List the updates that the policy of a bank has learned from live decisions, newest first. An update " +
			"is first compared with the current policy without effect. Then a canary uses it for a share of the " +
			"live builds. Then it is promoted to a new version or dropped. An update that passes with the votes of " +
			"fewer than five voters waits for `cairn bank promote`, and is an item of `cairn inbox`. One that " +
			"changes too many choices at once ends as a shadow. EFFECTIVE is the effective sample size of its " +
			"estimate, and AGREEMENT the share of decisions for which it chooses as before. Votes that came too " +
			"fast to count are listed below.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.bankUpdates(cmd.Context(), name) }}
	probes := &cobra.Command{Use: "probes", Short: "List probes: self-test questions and their scores",
		Example: "  cairn settings set memory.learning.probes_per_day=30\n  cairn bank probes", Args: noArguments,
		Long: "List probes, newest session first. A probe is a question that is generated from new memories and " +
			"answered by a memory search. Its score is the share of the expected answer's words that the search " +
			"finds. Probes run only if the setting memory.learning.probes_per_day is greater than 0.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.bankProbes(cmd.Context(), name) }}
	cmd.AddCommand(
		list,
		c.bankShow(&name),
		c.bankDecisions(&name),
		updates,
		probes,
		c.bankDiff(&name),
		c.bankPromote(&name),
		c.bankRollback(&name),
		c.bankFreeze(&name),
		c.bankUnfreeze(&name),
		c.bankExport(&name),
		c.bankImport(&name),
		c.bankFollow(&name),
		c.bankPrompts(&name),
	)
	return cmd
}

// bankShow is the command that shows a bank or its versions.
func (c *cli) bankShow(name *string) *cobra.Command {
	var number int
	var history bool
	show := &cobra.Command{Use: "show", Short: "Show the memory skills of a bank, or its versions",
		Example: "  cairn bank show\n  cairn bank show --history\n  cairn bank show --version 1 --output json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.showBank(cmd.Context(), *name, number, history)
		}}
	show.Flags().IntVar(&number, "version", 0, "version to show (default the active version)")
	show.Flags().BoolVar(&history, "history", false, "list the versions, newest first")
	return show
}

// bankDiff is the command that compares two versions.
func (c *cli) bankDiff(name *string) *cobra.Command {
	var from, to int
	diff := &cobra.Command{Use: "diff --from VERSION", Short: "Compare two versions of a bank",
		Example: "  cairn bank diff --from 1", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.diffBank(cmd.Context(), *name, from, to) }}
	diff.Flags().IntVar(&from, "from", 1, "older version")
	diff.Flags().IntVar(&to, "to", 0, "newer version (default the active version)")
	return diff
}

// bankPromote is the command that accepts an update.
func (c *cli) bankPromote(name *string) *cobra.Command {
	return &cobra.Command{Use: "promote UPDATE", Short: "Promote a policy update that waits for approval",
		Example: "  cairn bank promote 1",
		Long: "Promote a policy update that is on canary. It must be better than the active policy on at least 20 " +
			"rated answers on each side. With the votes of five voters on each side this happens automatically; " +
			"with fewer, you decide.",
		Args: exactly(1, "the number of the update"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := strconv.ParseInt(args[0], 10, 32)
			if err != nil || number < 1 {
				return usageError{fmt.Errorf("invalid update %q: list them with `cairn bank updates`", args[0])}
			}
			return c.changeBank(cmd.Context(), func(ctx context.Context, s *session) (bank.Head, error) {
				return s.Learning.Updates.Promote(ctx, s.workspace.ID, *name, int(number))
			})
		}}
}

// bankRollback is the command that restores a version.
func (c *cli) bankRollback(name *string) *cobra.Command {
	var back int
	rollback := &cobra.Command{Use: "rollback --to VERSION", Short: "Restore an earlier version of a bank and its " +
		"policy",
		Example: "  cairn bank rollback --to 1", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if back < 1 {
				return usageError{fmt.Errorf("missing --to: the version to restore")}
			}
			return c.changeBank(cmd.Context(), func(ctx context.Context, s *session) (bank.Head, error) {
				return s.Learning.Banks.Rollback(ctx, s.workspace.ID, *name, back)
			})
		}}
	rollback.Flags().IntVar(&back, "to", 0, "version to restore (required)")
	return rollback
}

// bankDecisions is the command that lists live choices.
func (c *cli) bankDecisions(name *string) *cobra.Command {
	var most int
	list := &cobra.Command{Use: "decisions", Short: "List the live choices of memory skills, newest first",
		Example: "  cairn bank decisions\n  cairn bank decisions --limit 5 --output json", Args: noArguments,
		Long: "List the latest live choices of memory skills, newest first. A sampled choice was drawn from the " +
			"probabilities of the policy; PROPENSITY is the probability of these skills in any order. Other choices " +
			"are greedy: their propensity is 1. The setting memory.learning.explore_per_day limits the number of " +
			"sampled choices. SCORE is the mean score of the replies that the resulting memories led to.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 || most > 1000 {
				return usageError{fmt.Errorf("invalid --limit %d: use 1 to 1000", most)}
			}
			return c.listDecisions(cmd.Context(), *name, most)
		}}
	list.Flags().IntVar(&most, "limit", 20, "number of choices, at most 1000")
	return list
}

// bankExport is the command that writes a version of a bank to files.
func (c *cli) bankExport(name *string) *cobra.Command {
	var number int
	export := &cobra.Command{Use: "export FOLDER", Short: "Export a bank with its policy to a folder",
		Example: "  cairn bank export memory-skills/", Args: exactly(1, "the folder to write"),
		Long: "Write a version of a bank to a folder: a Markdown file for each memory skill, and " + bank.PackageFile +
			" with the weights of the policy, its optimizer, the prompts of the bank, the recipe and the provenance. " +
			"An import of the folder into another workspace or database makes the same choices.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.exportBank(cmd.Context(), *name, number, args[0])
		}}
	export.Flags().IntVar(&number, "version", 0, "version to export (default the active version)")
	return export
}

// bankImport is the command that reads skills from files.
func (c *cli) bankImport(name *string) *cobra.Command {
	var texts bool
	imports := &cobra.Command{Use: "import FOLDER", Short: "Import a bank, or memory skills from Markdown files",
		Example: "  cairn bank import memory-skills/ --bank work\n  cairn bank import memory-skills/ --skills-only",
		Long: "Import a folder into a bank. A missing bank is created. If the folder has a " + bank.PackageFile +
			" of another bank, the exported version becomes the active one, with its policy and its prompts; `cairn " +
			"bank rollback` restores the former one. Then the Markdown files are imported: new skills are added, and " +
			"changed skills are updated. If one file is invalid, none is imported. A version that the bank has had " +
			"before does not become active again: use `cairn bank rollback`.",
		Args: exactly(1, "the folder to read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := bankFiles(args[0], !texts)
			if err != nil {
				return err
			}
			return c.changeBank(cmd.Context(), func(ctx context.Context, s *session) (bank.Head, error) {
				return s.Learning.Banks.Import(ctx, s.workspace.ID, *name, files)
			})
		}}
	imports.Flags().BoolVar(&texts, "skills-only", false, "import only the Markdown files, without the policy")
	return imports
}

// bankFollow is the command that bases a bank on a shared bank.
func (c *cli) bankFollow(name *string) *cobra.Command {
	var shared string
	follow := &cobra.Command{Use: "follow",
		Short:   "Base a bank on a shared bank",
		Example: "  cairn bank follow\n  cairn bank follow --bank work --shared default",
		Long: "Base a bank on a bank of the workspace \"" + bank.SharedWorkspace + "\". The bank takes over the " +
			"current skills of the shared bank and keeps its own skills. Of two skills with the same name, the " +
			"bank's own skill wins. To take over later changes, run the command again. Nothing is written to the " +
			"shared bank.",
		Args: noArguments,
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
	follow.Flags().StringVar(&shared, "shared", bank.Default, "name of the shared bank")
	return follow
}
