package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/host"
	"cairn/internal/memory"
	"cairn/internal/progressive"
)

func (c *cli) retrieve() *cobra.Command {
	q := progressive.Question{}
	var targets []string
	cmd := &cobra.Command{
		Use: "retrieve QUERY", Short: "Ask long-term memory: one search, or an agent that looks and reads",
		Long: "Ask long-term memory. Mode fast is one search and needs neither a model nor Temporal; mode agentic has\nan agent look, read the sessions that memories lead to, and say what it found; mode auto asks the\n" +
			"agent only when the search finds little.",
		Example: "  cairn retrieve where does Alice fly from\n  cairn retrieve smoke test --mode fast --target procedural/deploy -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usageError{fmt.Errorf("give a question")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Query = strings.Join(args, " ")
			for _, t := range targets {
				kind, name, found := strings.Cut(t, "/")
				if !found {
					return usageError{fmt.Errorf("--target %s: write type/target, as personal/alice", t)}
				}
				q.Targets = append(q.Targets, memory.Task{Type: memory.Type(kind), Target: name})
			}
			return c.runRetrieve(cmd.Context(), q)
		},
	}
	cmd.Flags().StringVar(&q.Mode, "mode", progressive.Auto, "fast, agentic or auto")
	cmd.Flags().IntVar(&q.TopK, "top", 0, "memories at most, 1 to 100 (default 20)")
	cmd.Flags().StringArrayVar(&targets, "target", nil, "type/target that a fast search is about; may be repeated (default: all of memory)")
	return cmd
}

func (c *cli) runRetrieve(ctx context.Context, q progressive.Question) error {
	s, err := c.open(ctx, needs{temporal: q.Mode != progressive.Fast})
	if err != nil {
		return err
	}
	defer s.close()
	q.Workspace, q.WorkspaceKey, q.Spec = s.workspace.ID, s.workspace.Key, host.TurnSpec(s.Config)
	answer, err := s.Progressive.Retrieve(ctx, q)
	if err != nil {
		return err
	}
	if answer.Mode == progressive.Agentic && s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	if answer.Note != "" {
		fmt.Fprintln(c.errs, answer.Note)
	}
	if c.output == "json" {
		return c.printJSON(answer)
	}
	if answer.Text != "" {
		fmt.Fprintln(c.out, answer.Text)
	}
	if len(answer.Memories) == 0 {
		fmt.Fprintln(c.out, "nothing relevant found")
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "MEMORY\tTYPE\tTARGET\tCONTENT\tSESSION")
	for _, m := range answer.Memories {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", m.ID, m.Type, m.Target, short(m.Content), m.History)
	}
	return tw.Flush()
}
