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
	var request, add string
	var fresh, detach, together bool
	var f formatFlags
	cmd := &cobra.Command{
		Use: "summarize FILE", Short: "Extract long-term memories from conversations",
		Long: "Extract long-term memories from the conversations of a file. The summarizer writes a digest of each " +
			"conversation, and specialists save memories about its people, domains of work and tools. FILE has the " +
			"formats of `cairn distill`, or is - for standard input. With --together, the conversations are scored " +
			"attempts at one task, which are compared.",
		Example: "  cairn summarize conversation.json\n  cairn summarize airline.json --together --output json\n  " +
			"cat chat.txt | cairn summarize -",
		Args: exactly(1, "the file to summarize"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runSummarize(cmd.Context(), args[0], request, add, f, fresh, detach, together)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&request, "request-id", "",
		"ID of the request; the same ID is the same request (default a hash of the content)")
	cmd.Flags().StringVar(&add, "add", "",
		"auto, fast (one model call) or agents (default the setting memory.add)")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "summarize again instead of returning the stored result; repeats "+
		"all model calls")
	cmd.Flags().BoolVar(&detach, "detach", false,
		"return when the sessions are stored; a worker completes them")
	cmd.Flags().BoolVar(&together, "together", false,
		"compare the conversations of the file as attempts of one session")
	return cmd
}

func (c *cli) runSummarize(ctx context.Context, file, request, add string, f formatFlags, fresh, detach,
	together bool) error {
	conversations, err := c.read(ctx, file, f)
	if err != nil {
		return err
	}
	if request != "" && len(conversations) > 1 && !together {
		return usageError{fmt.Errorf("--request-id names one request, but the file holds %d conversations: add "+
			"--together",
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
		r.Add = add
		made, err := s.Progressive.Summarize(ctx, r)
		if err != nil {
			return err
		}
		report, err := s.waitSummary(ctx, made.Ref, detach)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	return c.printSummaries(reports)
}

// sessions returns one request for each conversation, or one for all if together is set.
func sessions(conversations []transcript.Conversation, together bool) (out []memoryagent.Request) {
	var attempts []memoryagent.Trajectory
	for _, one := range conversations {
		t := memoryagent.Trajectory{Task: one.Title, Score: one.Reward, Messages: one.Messages}
		switch {
		case together:
			attempts = append(attempts, t)
		case one.Reward != nil: // a trajectory carries its score
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

// waitSummary returns the report of a run when the run has ended, or immediately if detach is set.
func (s *session) waitSummary(ctx context.Context, ref run.Ref, detach bool) (memoryagent.Report, error) {
	for {
		r, err := s.Progressive.Report(ctx, ref)
		if err != nil || detach || r.State == run.Ended {
			return r, waited(ctx, err, "the run", "cairn runs wait "+ref.Run)
		}
		select {
		case <-ctx.Done(): // the next report fails
		case <-time.After(pollInterval):
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
		fmt.Fprintf(tw, "%s\t%s\t(session %s)\t\t\t\t%s\n", r.Run, status, r.History, short(r.Text))
		for _, t := range r.Tasks {
			fmt.Fprintf(tw, "%s\t%s\t%s(%s)\t%d\t%d\t%d\t%s\n", t.Run, t.Status, t.Type, t.Target, len(t.Added),
				len(t.Updated), len(t.Deleted), short(strings.TrimSpace(t.Note+" "+t.Error)))
		}
	}
	return tw.Flush()
}
