package cli

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/fault"
	"cairn/internal/service/erase"
)

// eraseFlags are what a command line says of an erase.
type eraseFlags struct {
	conversation, derived string
	dryRun, yes           bool
}

func (c *cli) erase() *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{Use: "erase [WORKSPACE]",
		Short: "Erase a workspace or one conversation everywhere, and prove it with counts",
		Long: "Erase a workspace with everything in it, or one conversation of the workspace that -w names: rows, " +
			"packages, open\n" +
			"workflows. It cannot be taken back, so the name is asked for unless --yes is given. --dry-run only " +
			"counts.\n" +
			"Memories, skills and the identity that came of a conversation and of nothing else are kept without " +
			"their source, or as\n" +
			"--derived says; what has other sources stays. " +
			"An identity that is not kept gives way to the one before it.",
		Example: "  cairn erase default --dry-run\n  cairn erase no-longer-needed --yes\n  cairn erase " +
			"--conversation old-talk --derived quarantine --yes", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (f.conversation != "") {
				return usageError{fmt.Errorf("give the name of a workspace, or --conversation with the id of one of " +
					"its conversations")}
			}
			if f.conversation == "" && cmd.Flags().Changed("derived") {
				return usageError{fmt.Errorf("--derived is for one conversation: of a workspace nothing is kept")}
			}
			if len(args) == 1 {
				if c.workspace != "" && c.workspace != args[0] {
					return usageError{fmt.Errorf("-w names %q and the argument %q", c.workspace, args[0])}
				}
				c.workspace = args[0]
			}
			return c.runErase(cmd.Context(), f)
		}}
	cmd.Flags().StringVar(&f.conversation, "conversation", "", "erase only the conversation with this id")
	cmd.Flags().StringVar(&f.derived, "derived", erase.Keep,
		"what happens to memories, skills and the identity that came of it: keep, quarantine, delete")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "count what would go, and list what came of the conversation")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	return cmd
}

func (c *cli) runErase(ctx context.Context, f eraseFlags) error {
	s, err := c.open(ctx, needs{temporal: !f.dryRun})
	if err != nil {
		return err
	}
	defer s.close()
	target, name := erase.Target{Workspace: s.workspace.ID, Derived: f.derived}, s.workspace.Name
	if f.conversation != "" {
		name = f.conversation
		err := s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q postgres.Tx) error {
			v, err := q.ConversationViews().ConversationView(ctx, f.conversation)
			target.Conversation = v.ID
			return err
		})
		if err != nil {
			return err
		}
	}
	if f.dryRun {
		plan, err := s.Erase.Plan(ctx, target)
		if err != nil {
			return err
		}
		return c.printPlan(plan, target)
	}
	if !f.yes {
		if err := c.confirm(name); err != nil {
			return err
		}
	}
	e, err := s.Erase.Accept(ctx, target)
	if err != nil {
		return err
	}
	if err := s.Driver.Erase(ctx, e.WorkspaceKey, e.ID, e.Conversation); err != nil {
		s.Log.Warn("the erase is left to the relay", "erasure", e.ID, "error", err)
	}
	for !e.Ended {
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped waiting; erasure %d goes on when a worker runs: %w", e.ID, ctx.Err())
		case <-time.After(lookEvery):
		}
		if e, err = s.Erase.Report(ctx, 0, e.ID); err != nil {
			return err
		}
	}
	return c.printErasure(e)
}

// confirm asks for the name of what goes.
func (c *cli) confirm(name string) error {
	fmt.Fprintf(c.errs, "This cannot be taken back. Type %s to erase it: ", name)
	line, _ := bufio.NewReader(c.in).ReadString('\n')
	if strings.TrimSpace(line) != name {
		return fault.New(fault.Cancelled, "nothing was erased", "type the name to go on, or add --yes")
	}
	return nil
}

// derivedWords say what is done to what came of a conversation.
var derivedWords = map[string]string{erase.Keep: "kept without their source", erase.Quarantine: "quarantined",
	erase.Delete: "deleted"}

func (c *cli) printPlan(p erase.Plan, of erase.Target) error {
	if c.output == "json" {
		return c.printJSON(p)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TABLE\tROWS OF IT")
	for _, table := range slices.Sorted(maps.Keys(p.Rows)) {
		if p.Rows[table] > 0 {
			fmt.Fprintf(tw, "%s\t%d\n", table, p.Rows[table])
		}
	}
	for i, d := range p.Derived {
		if i == 0 {
			fmt.Fprintln(tw, "\nCAME OF IT\tID\tNOTHING ELSE BEHIND IT")
		}
		fmt.Fprintf(tw, "%s\t%s\t%t\n", d.Kind, d.Ref, d.Sole)
	}
	if err := tw.Flush(); err != nil || of.Conversation == 0 {
		return err
	}
	_, err := fmt.Fprintf(c.out, "Memories, skills and identities that came of it and of nothing else would be %s "+
		"(--derived %s); all the rest would go.\n", derivedWords[of.Derived], of.Derived)
	return err
}

func (c *cli) printErasure(e erase.Erasure) error {
	if c.output == "json" {
		return c.printJSON(e)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "WHAT\tDELETED\tLEFT")
	for _, table := range slices.Sorted(maps.Keys(e.Deleted)) {
		fmt.Fprintf(tw, "%s\t%d\t%d\n", table, e.Deleted[table], e.Remaining[table])
	}
	fmt.Fprintf(tw, "objects\t%d\t%d\nopen workflows\t%d\t%d\n", e.Objects, e.ObjectsLeft, e.Workflows, e.WorkflowsLeft)
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "erasure %d has ended: %d rows deleted\n", e.ID, e.Rows())
	if e.Conversation != 0 {
		fmt.Fprintf(c.out, "%d memories and %d skills came of it and of nothing else: they are %s\n", e.Memories,
			e.Skills, derivedWords[e.Derived])
	}
	return nil
}
