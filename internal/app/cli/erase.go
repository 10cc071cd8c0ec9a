package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

// eraseFlags are the flags of the command erase.
type eraseFlags struct {
	conversation, target, derived string
	dryRun, yes                   bool
}

const eraseHelp = "Erase a workspace, or one conversation or one target of the workspace that --workspace selects. " +
	"Erasure removes rows, packages and open workflows, and prints the counts. You cannot undo it, so the command " +
	"asks for the name unless you add --yes. To count without erasing, use --dry-run.\n\nMemories, skills and the " +
	"identity can be derived from a conversation. If the conversation is their only source, --derived decides what " +
	"happens to them. Those with other sources stay. If the current identity is removed, the previous one becomes " +
	"current.\n\n--target erases a subject: the memories of this target, the conversations that concern only this " +
	"target, its messages in other conversations, and what derives only from them. A message in a shared " +
	"conversation is replaced by [erased]. Data with other sources is kept and listed under NEEDS REVIEW. Memories " +
	"of the target that are written meanwhile belong to the next erasure."

func (c *cli) erase() *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{Use: "erase [WORKSPACE]",
		Short: "Erase a workspace, a conversation or a subject", Long: eraseHelp,
		Example: "  cairn erase default --dry-run\n  cairn erase no-longer-needed --yes\n  cairn erase " +
			"--conversation old-talk --derived quarantine --yes\n  cairn erase --target Ada --yes",
		Args: atMost(1, "the name of a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen := len(args)
			for _, name := range []string{"conversation", "target"} {
				if cmd.Flags().Changed(name) {
					chosen++
				}
			}
			if chosen != 1 || len(args) == 0 && f.conversation == "" && f.target == "" {
				return usageError{fmt.Errorf("expected the name of a workspace, --conversation with the ID of a " +
					"conversation, or --target with the name of a target")}
			}
			if f.conversation == "" && cmd.Flags().Changed("derived") {
				return usageError{fmt.Errorf("--derived requires --conversation: erasing a workspace or a target " +
					"keeps nothing that derives only from it")}
			}
			if len(args) == 1 {
				if c.workspace != "" && c.workspace != args[0] {
					return usageError{fmt.Errorf("conflicting workspaces: --workspace is %q, the argument is "+
						"%q", c.workspace, args[0])}
				}
				c.workspace = args[0]
			}
			return c.runErase(cmd.Context(), f)
		}}
	cmd.Flags().StringVar(&f.conversation, "conversation", "", "ID of the conversation to erase (default the whole "+
		"workspace)")
	cmd.Flags().StringVar(&f.target, "target", "", "name of the target whose memories, conversations and messages "+
		"to erase (default the whole workspace)")
	cmd.Flags().StringVar(&f.derived, "derived", erasure.Keep,
		"what to do with data derived only from the conversation: keep, quarantine or delete")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "count rows and list derived data without erasing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask for confirmation")
	return cmd
}

func (c *cli) runErase(ctx context.Context, f eraseFlags) error {
	s, err := c.open(ctx, needs{temporal: !f.dryRun})
	if err != nil {
		return err
	}
	defer s.close()
	target, name := erasure.Target{Workspace: s.workspace.ID, Subject: f.target, Derived: f.derived}, s.workspace.Name
	if f.target != "" {
		if target.Subject, err = s.Erase.Meant(ctx, s.workspace.ID, f.target); err != nil {
			return err
		}
		if name = target.Subject; name != f.target {
			fmt.Fprintf(c.errs, "target %q is the subject %q\n", f.target, name)
		}
	}
	if f.conversation != "" {
		name = f.conversation
		err := s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) error {
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
	return c.eraseAccepted(ctx, s, target)
}

// eraseAccepted erases and waits for the end.
func (c *cli) eraseAccepted(ctx context.Context, s *session, target erasure.Target) error {
	e, err := s.Erase.Accept(ctx, target)
	if err != nil {
		return err
	}
	if err := s.Driver.Erase(ctx, e.Start()); err != nil {
		s.Log.Warn("erasure deferred to relay", "erasure", e.ID, "error", err)
	}
	for !e.Ended {
		select {
		case <-ctx.Done():
			return stopped{fmt.Sprintf("erasure %d", e.ID), "a worker completes it"}
		case <-time.After(pollInterval):
		}
		if e, err = s.Erase.Report(ctx, 0, e.ID); err != nil {
			return err
		}
	}
	return c.printErasure(e, target.Subject)
}

// confirm asks the user to type the name of the erased object.
func (c *cli) confirm(name string) error {
	fmt.Fprintf(c.errs, "You cannot undo this. Type %s to erase it: ", name)
	line, _ := bufio.NewReader(c.in).ReadString('\n')
	if strings.TrimRight(line, "\r\n") != name {
		return fault.New(fault.Cancelled, "nothing was erased", "type the name exactly, or add --yes")
	}
	return nil
}

// derivedWords describe each choice of --derived.
var derivedWords = map[string]string{erasure.Keep: "kept without their source", erasure.Quarantine: "quarantined",
	erasure.Delete: "deleted"}

func (c *cli) printPlan(p erasure.Plan, target erasure.Target) error {
	if c.output == "json" {
		return c.printJSON(p)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if p.Subject != "" {
		fmt.Fprintf(c.out, "subject: %q\n", p.Subject)
	}
	fmt.Fprintln(tw, "TABLE\tROWS")
	for _, table := range slices.Sorted(maps.Keys(p.Rows)) {
		if p.Rows[table] > 0 {
			fmt.Fprintf(tw, "%s\t%d\n", table, p.Rows[table])
		}
	}
	for i, d := range p.Derived {
		if i == 0 {
			fmt.Fprintln(tw, "\nDERIVED\tID\tONLY SOURCE")
		}
		fmt.Fprintf(tw, "%s\t%s\t%t\n", d.Kind, d.Ref, d.Sole)
	}
	printReview(tw, p.NeedsReview)
	if err := tw.Flush(); err != nil || target.Conversation == 0 {
		return err
	}
	_, err := fmt.Fprintf(c.out, "Data derived only from the conversation would be %s (--derived %s); the rest "+
		"would be erased.\n", derivedWords[target.Derived], target.Derived)
	return err
}

// printReview lists what a subject's erasure keeps.
func printReview(tw io.Writer, items []erasure.Item) {
	for i, item := range items {
		if i == 0 {
			fmt.Fprintln(tw, "\nNEEDS REVIEW\tID")
		}
		fmt.Fprintf(tw, "%s\t%s\n", item.Kind, item.Ref)
	}
}

// erased is an erasure with the subject that the command erased: its report contains only a hash.
type erased struct {
	erasure.Erasure
	Target string `json:"target,omitempty"`
}

func (c *cli) printErasure(e erasure.Erasure, subject string) error {
	if c.output == "json" {
		return c.printJSON(erased{e, subject})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TABLE\tDELETED\tREMAINING")
	for _, table := range slices.Sorted(maps.Keys(e.Deleted)) {
		fmt.Fprintf(tw, "%s\t%d\t%d\n", table, e.Deleted[table], e.Remaining[table])
	}
	fmt.Fprintf(tw, "objects\t%d\t%d\nopen "+
		"workflows\t%d\t%d\n", e.Objects, e.ObjectsLeft, e.Workflows, e.WorkflowsLeft)
	printReview(tw, e.NeedsReview)
	if err := tw.Flush(); err != nil {
		return err
	}
	if subject != "" {
		fmt.Fprintf(c.out, "erased subject: %q\n", subject)
	}
	fmt.Fprintf(c.out, "erasure %d completed: %d rows deleted\n", e.ID, e.Rows())
	if e.Conversation != 0 {
		fmt.Fprintf(c.out, "%d memories and %d skills were derived only from it: %s\n", e.Memories,
			e.Skills, derivedWords[e.Derived])
	}
	return nil
}
