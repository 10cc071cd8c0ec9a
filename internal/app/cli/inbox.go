package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/skill"
	"cairn/internal/service/inbox"
)

func (c *cli) inbox() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List, show, approve and reject what waits for a person",
		Long: "List what waits for a person: new skills (s and a number), changes of skills (c), memory " +
			"writes (m), and updates of policies (u) and edits of banks (r) of memory skills that too few have " +
			"voted on. Those with the worst findings come first. `cairn inbox show ITEM` prints the diff, " +
			"the findings with their lines, and the evidence.",
		Example: "  cairn inbox\n  cairn inbox show s1",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.listInbox(cmd.Context(), limit) },
	}
	const most = 100
	cmd.Flags().IntVar(&limit, "limit", most, "items of each kind")
	show := &cobra.Command{Use: "show ITEM", Short: "Show an item with its diff, findings and evidence",
		Example: "  cairn inbox show s1\n  cairn inbox show c7", Args: exactly(1, "the item's ID, from `cairn inbox`"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.showInbox(cmd.Context(), args[0]) }}
	cmd.AddCommand(show, c.approveInbox(), c.rejectInbox())
	return cmd
}

func (c *cli) listInbox(ctx context.Context, limit int) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		items, err := s.ReviewInbox.List(ctx, s.actor(), limit)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"items": items})
		}
		if len(items) == 0 {
			fmt.Fprintln(c.out, "nothing waits for approval")
			return nil
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "ITEM\tKIND\tNAME\tSTATE\tCREATED\tBY\tFINDINGS\tREASON")
		for _, i := range items {
			created := i.CreatedAt.Local().Format(time.DateTime)
			fmt.Fprintln(tw, strings.Join([]string{i.ID, i.Kind, i.Title, i.State, created, i.Origin,
				countFindings(i.Findings), short(oneLine(i.Reason))}, "\t"))
		}
		return tw.Flush()
	})
}

// countFindings returns the findings by severity, for example "1 block, 2 review".
func countFindings(findings []approval.Finding) string {
	var out []string
	for _, s := range []approval.Severity{approval.Block, approval.Review, approval.Note} {
		n := 0
		for _, f := range findings {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, s))
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

func (c *cli) showInbox(ctx context.Context, id string) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		d, err := s.ReviewInbox.Show(ctx, s.actor(), id)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(d)
		}
		c.printDetail(d)
		return nil
	})
}

func (c *cli) printDetail(d inbox.Detail) {
	fmt.Fprintf(c.out, "%s  %s %s\n%s\nreason: %s\n", d.ID, d.Kind, d.Title, d.Summary, d.Reason)
	if k := d.Canary; k != nil {
		fmt.Fprintf(c.out, "canary: %d %% of the conversations see it until %s; %d succeeded, %d failed; "+
			"probability of being better %.2f\n", k.Share, k.Until.Local().Format(time.DateTime), k.Passed, k.Failed,
			k.Better)
	}
	if d.Quality != nil {
		fmt.Fprintln(c.out, d.Quality)
		c.printCriteria(*d.Quality)
	}
	if d.Conflict != "" {
		fmt.Fprintf(c.out, "conflict: %s\n", d.Conflict)
	}
	if len(d.Findings) > 0 {
		fmt.Fprintln(c.out, "\nFindings")
	}
	for _, f := range d.Findings {
		fmt.Fprintf(c.out, "  %s  %s: %s\n", f.ID, f.Severity, f.Text)
		if f.Place != "" || f.Line != "" {
			fmt.Fprintf(c.out, "    %s\n", strings.TrimSpace(f.Place+"  "+f.Line))
		}
	}
	fmt.Fprintf(c.out, "\nChange\n%s", d.Diff)
	for _, e := range d.Evidence {
		fmt.Fprintf(c.out, "\nEvidence: conversation %s, messages %d to %d\n%s\n", e.Conversation, e.From, e.To, e.Text)
	}
	fmt.Fprintf(c.out, "\n%s\n", c.howToApprove(d))
}

// printCriteria prints the criteria of a judgment with their quotes and what is missing.
func (c *cli) printCriteria(q skill.Quality) {
	for _, line := range q.Lines() {
		fmt.Fprintln(c.out, "  "+line)
	}
}

// howToApprove returns the command that approves an item.
func (c *cli) howToApprove(d inbox.Detail) string {
	text := fmt.Sprintf("To approve it: %s inbox approve %s --sha %.12s", c.program, d.ID, d.SHA)
	if ids := approval.Blocking(d.Findings); len(ids) > 0 {
		text += fmt.Sprintf(" --override %s --reason \"…\"", strings.Join(ids, ","))
	}
	return text
}

func (c *cli) approveInbox() *cobra.Command {
	var d approval.Decision
	cmd := &cobra.Command{
		Use:   "approve ITEM",
		Short: "Approve an item",
		Long: "Approve an item of the inbox. Blocking findings need an override that names each of them, and " +
			"a reason " +
			"of 10 to 500 characters; both are stored in the audit log. With --sha, the command fails if the " +
			"item has " +
			"changed since `cairn inbox show`.",
		Example: "  cairn inbox approve s1\n  cairn inbox approve c7 --override risk-1f0c8a52 --reason \"The " +
			"host is ours.\"",
		Args: exactly(1, "the item's ID, from `cairn inbox`"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.decideInbox(cmd.Context(), func(s *session) (inbox.Outcome, error) {
				return s.ReviewInbox.Approve(cmd.Context(), s.actor(), args[0], d)
			})
		},
	}
	cmd.Flags().StringVar(&d.SHA, "sha", "", "the item as you have read it, see 'cairn inbox show' (default no check)")
	addOverride(cmd, &d.Override)
	return cmd
}

// addOverride adds the flags that accept blocking findings.
func addOverride(cmd *cobra.Command, o *approval.Override) {
	cmd.Flags().StringSliceVar(&o.Findings, "override", nil, "IDs of all blocking findings (default none)")
	cmd.Flags().StringVar(&o.Reason, "reason", "", "why the findings are acceptable (default none)")
}

func (c *cli) rejectInbox() *cobra.Command {
	return &cobra.Command{Use: "reject ITEM", Short: "Reject an item; a rejected new skill is archived",
		Example: "  cairn inbox reject s1", Args: exactly(1, "the item's ID, from `cairn inbox`"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.decideInbox(cmd.Context(), func(s *session) (inbox.Outcome, error) {
				return s.ReviewInbox.Reject(cmd.Context(), s.actor(), args[0])
			})
		}}
}

func (c *cli) decideInbox(ctx context.Context, decide func(*session) (inbox.Outcome, error)) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		out, err := decide(s)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(out)
		}
		line := out.ID + " " + out.State
		if out.Title != "" {
			line += fmt.Sprintf(": %s, version %d", out.Title, out.Version)
		}
		fmt.Fprintln(c.out, line)
		return nil
	})
}
