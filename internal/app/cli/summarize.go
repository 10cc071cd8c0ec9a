package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/memoryagent"
)

func (c *cli) summarize() *cobra.Command {
	var request string
	var fresh, detach, together bool
	cmd := &cobra.Command{
		Use: "summarize FILE", Short: "Make long-term memories of the sessions in a file (- for standard input)",
		Long: "Make long-term memories of the sessions in a file: a digest of each, and what specialists remember\n" +
			"about the people, the domains of work and the tools in it. FILE is read as `cairn distill` reads it;\n" +
			"with --together its conversations are attempts of one session, with their scores, and are compared.",
		Example: "  cairn summarize conversation.json\n  cairn summarize airline.json --together -o json\n  cat " +
			"chat.txt | cairn summarize -",
		Args: exactly(1, "the file to summarise"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runSummarize(cmd.Context(), args[0], request, fresh, detach, together)
		},
	}
	cmd.Flags().StringVar(&request, "request-id", "",
		"id of the request; the same id is the same request (default: of the content)")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "summarise again although it was done before, and pay again")
	cmd.Flags().BoolVar(&detach, "detach", false,
		"return when the sessions are stored; a worker drives them to their end")
	cmd.Flags().BoolVar(&together, "together", false,
		"take the conversations of the file as attempts, to be compared in one session")
	return cmd
}

func (c *cli) runSummarize(ctx context.Context, file, request string, fresh, detach, together bool) error {
	conversations, err := c.read(file)
	if err != nil {
		return err
	}
	if request != "" && len(conversations) > 1 && !together {
		return usageError{fmt.Errorf("--request-id names one request, the file holds %d conversations; use --together",
			len(conversations))}
	}
	s, err := c.open(ctx, needs{temporal: true, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	var reports []memoryagent.Report
	for _, r := range sessions(conversations, together) {
		r.Workspace, r.WorkspaceKey, r.ID, r.Fresh, r.Spec = s.workspace.ID, s.workspace.Key, request, fresh,
			app.TurnSpec(s.Config)
		made, err := s.Progressive.Summarize(ctx, r)
		if err != nil {
			return err
		}
		report, err := s.summarized(ctx, made.Ref, detach)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	return c.printSummaries(reports)
}

// sessions are the requests that a file's conversations make.
func sessions(conversations []transcript.Conversation, together bool) (out []memoryagent.Request) {
	var attempts []memoryagent.Trajectory
	for _, one := range conversations {
		t := memoryagent.Trajectory{Task: one.Title, Score: one.Reward, Messages: one.Messages}
		switch {
		case together:
			attempts = append(attempts, t)
		case one.Reward != nil: // an outcome is worth telling
			out = append(out, memoryagent.Request{Trajectories: []memoryagent.Trajectory{t}})
		default:
			out = append(out, memoryagent.Request{Messages: one.Messages})
		}
	}
	if together {
		out = append(out, memoryagent.Request{Trajectories: attempts})
	}
	return out
}

// summarized is the report of a run, once it has ended unless that is not waited for.
func (s *session) summarized(ctx context.Context, ref run.Ref, detach bool) (memoryagent.Report, error) {
	for {
		r, err := s.Progressive.Report(ctx, ref)
		if err != nil || detach || r.State == run.Ended {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, fmt.Errorf("stopped waiting; the run goes on when a worker runs: cairn runs show %d: %w", ref.Run,
				ctx.Err())
		case <-time.After(lookEvery):
		}
	}
}

func (c *cli) printSummaries(reports []memoryagent.Report) error {
	if c.output == "json" {
		return c.printJSON(map[string]any{"results": reports})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "RUN\tSTATUS\tTARGET\tADDED\tUPDATED\tDELETED\tNOTE")
	for _, r := range reports {
		status := r.Status
		if status == "" {
			status = string(r.State)
		}
		fmt.Fprintf(tw, "%d\t%s\t(session %s)\t\t\t\t%s\n", r.Run, status, r.History, short(r.Text))
		for _, t := range r.Tasks {
			fmt.Fprintf(tw, "%d\t%s\t%s(%s)\t%d\t%d\t%d\t%s\n", t.Run, t.Status, t.Type, t.Target, len(t.Added),
				len(t.Updated), len(t.Deleted), short(strings.TrimSpace(t.Note+" "+t.Error)))
		}
	}
	return tw.Flush()
}
