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
		Use: "retrieve QUERY", Short: "Ask long-term memory: one search, or an agent that looks and reads",
		Long: "Ask long-term memory. Mode fast is one search and needs neither a model nor Temporal; mode agentic " +
			"has\nan agent look, read the sessions that memories lead to, and say what it found; mode auto asks the\n" +
			"agent only when the search finds little. What a fast search finds, skills among it, can be reranked " +
			"and\nrewritten by a model within a deadline.",
		Example: "  cairn retrieve where does Alice fly from\n  cairn retrieve smoke test --mode fast --target " +
			"procedural/deploy -o json\n  cairn retrieve what did we decide --mode fast --time 20260301,20260331",
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usageError{fmt.Errorf("give a question")}
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
					return usageError{fmt.Errorf("--target %s: write type/target, as personal/alice", t)}
				}
				q.Targets = append(q.Targets, memory.Task{Type: memory.Type(kind), Target: name})
			}
			return c.runRetrieve(cmd.Context(), q)
		},
	}
	cmd.Flags().StringVar(&q.Mode, "mode", memoryagent.Auto, "fast, agentic or auto")
	cmd.Flags().IntVar(&q.TopK, "top", 0, "memories at most, 1 to 100 (default 20, and 5 with --rerank, --rewrite "+
		"or --min-score)")
	cmd.Flags().StringArrayVar(&targets, "target", nil,
		"type/target that a fast search is about; may be repeated (default: all of memory)")
	cmd.Flags().StringVar(&q.TimeFilter, "time", "",
		"day as 20260301, or first and last day as 20260301,20260331, that a fast search is about")
	cmd.Flags().BoolVar(&q.Refine.Rerank, "rerank", false, "have a model order what a fast search found")
	cmd.Flags().BoolVar(&q.Refine.Rewrite, "rewrite", false, "have a model write what a fast search found as one text")
	cmd.Flags().Float64Var(&least, "min-score", 0,
		"leave out what scores less, 0 to 1: of a model's score, else a share of the best one's")
	cmd.Flags().DurationVar(&q.Refine.Deadline, "deadline", 0,
		"of --rerank and --rewrite together; then the plain answer is given (default 4s)")
	cmd.Flags().BoolVar(&skills, "skills", true, "find skills beside memories")
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
	if (answer.Mode == memoryagent.Agentic || answer.Run != 0) && s.Config.Offline() {
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
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", m.ID, m.Type, m.Target, short(m.Content), cmp.Or(m.History, m.View))
	}
	return tw.Flush()
}
