package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/memory"
	"cairn/internal/service/memoryagent"
)

func (c *cli) retrieve() *cobra.Command {
	q := memoryagent.Question{}
	var targets []string
	var least float64
	var skills bool
	cmd := &cobra.Command{
		Use: "retrieve QUERY", Short: "Query long-term memory",
		Long: "Query long-term memory. Mode fast is one search and needs neither a model nor Temporal. In mode " +
			"agentic, an agent searches, reads the sessions of the memories and writes a reply. Mode auto starts " +
			"the agent only if the search finds little. With --rerank and --rewrite, a model orders and rewrites " +
			"the results of a fast search within a deadline.",
		Example: "  cairn retrieve where does Alice fly from\n  cairn retrieve smoke test --mode fast --target " +
			"procedural/deploy --output json\n  cairn retrieve what did we decide --mode fast --time " +
			"20260301,20260331",
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usageError{fmt.Errorf("missing argument: the query")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Query = strings.Join(args, " ")
			if q.Refine.Filter = cmd.Flags().Changed("min-score"); q.Refine.Filter {
				q.Refine.MinScore = &least
			}
			q.Choices.SkillMemory = &skills
			for _, t := range targets {
				kind, name, found := strings.Cut(t, "/")
				if !found {
					return usageError{fmt.Errorf("invalid --target %q: use TYPE/TARGET, such as personal/alice", t)}
				}
				q.Targets = append(q.Targets, memory.Task{Type: memory.Type(kind), Target: name})
			}
			return c.runRetrieve(cmd.Context(), q)
		},
	}
	cmd.Flags().StringVar(&q.Mode, "mode", memoryagent.Auto, "retrieval mode: fast, agentic or auto")
	cmd.Flags().IntVar(&q.TopK, "top", 0, "maximum number of memories, 1 to 100 (default 20, or 5 with --rerank, "+
		"--rewrite or --min-score)")
	cmd.Flags().StringArrayVar(&targets, "target", nil,
		"TYPE/TARGET to search in mode fast; may be repeated (default all)")
	cmd.Flags().StringVar(&q.TimeFilter, "time", "",
		"day, such as 20260301, or first and last day, such as 20260301,20260331, to search in mode fast (default "+
			"all)")
	cmd.Flags().BoolVar(&q.Refine.Rerank, "rerank", false, "let a model order the results of a fast search")
	cmd.Flags().BoolVar(&q.Refine.Rewrite, "rewrite", false, "let a model rewrite the results of a fast search as "+
		"one text")
	cmd.Flags().Float64Var(&least, "min-score", 0,
		"minimum score, 0 to 1: the model's score, or without a model the share of the best score (default no "+
			"minimum)")
	cmd.Flags().DurationVar(&q.Refine.Deadline, "deadline", 0,
		"time limit for --rerank and --rewrite; after it, the plain results are returned (default 4s)")
	cmd.Flags().BoolVar(&skills, "skills", true, "also search skills")
	return cmd
}

func (c *cli) runRetrieve(ctx context.Context, q memoryagent.Question) error {
	s, err := c.open(ctx, needs{temporal: q.Mode != memoryagent.Fast || q.Refine.Rerank || q.Refine.Rewrite})
	if err != nil {
		return err
	}
	defer s.close()
	q.Workspace, q.WorkspaceKey, q.Spec = s.workspace.ID, s.workspace.Key, app.TurnSpec(s.Config)
	answer, err := s.Progressive.Retrieve(ctx, q)
	if err != nil {
		return err
	}
	if (answer.Mode == memoryagent.Agentic || answer.Run != "") && s.Config.Offline() {
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
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	switch {
	case len(answer.Turns) > 0:
		fmt.Fprintln(tw, "TURN\tSPEAKER\tCONTENT")
		for _, t := range answer.Turns {
			fmt.Fprintf(tw, "%s\t%s\t%s\n", t.ID, t.Speaker, short(t.Content))
		}
		return tw.Flush()
	case len(answer.Memories) == 0:
		fmt.Fprintln(c.out, "nothing relevant found")
		return nil
	}
	fmt.Fprintln(tw, "MEMORY\tTYPE\tTARGET\tCONTENT\tSESSION")
	for _, m := range answer.Memories {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", m.ID, m.Type, m.Target, short(m.Content), cmp.Or(m.History, m.View))
	}
	return tw.Flush()
}
