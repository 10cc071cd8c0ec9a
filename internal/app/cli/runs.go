package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
	"cairn/internal/service/inspect"
	"cairn/internal/store"
)

func (c *cli) runs() *cobra.Command {
	cmd := &cobra.Command{Use: "runs", Short: "List, show, await and retry runs", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var max int
	list := &cobra.Command{Use: "list", Short: "List runs, newest first",
		Example: "  cairn runs list --max 5", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listRuns(cmd.Context(), max) }}
	list.Flags().IntVar(&max, "max", 20, "maximum number of runs")
	var fresh bool
	retry := &cobra.Command{Use: "retry RUN",
		Short: "Retry a run from its stored replies",
		Long: "Retry an ended run. Failed tasks run again, and stored replies are reused, so only missing model " +
			"calls are made. A stored reply is reused even if it was not useful: to repeat all model calls, add " +
			"--fresh, which starts a new generation of the run.",
		Example: "  cairn runs retry run_0h3xk9m2p7q4r8s1t5v6w0y3zd\n" +
			"  cairn runs retry run_0h3xk9m2p7q4r8s1t5v6w0y3zd --fresh", Args: exactly(1, "the run's ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.retryRun(cmd.Context(), args[0], fresh) }}
	retry.Flags().BoolVar(&fresh, "fresh", false, "start a new generation of the run, which repeats all model calls")
	wait := &cobra.Command{Use: "wait RUN", Short: "Wait until a run has ended, then show it",
		Long:    "Wait until a run has ended, then show it. Ctrl-C ends only the waiting.",
		Example: "  cairn runs wait run_0h3xk9m2p7q4r8s1t5v6w0y3zd", Args: exactly(1, "the run's ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.waitRun(cmd.Context(), args[0]) }}
	cmd.AddCommand(list, c.runsShow(), wait, retry)
	return cmd
}

func (c *cli) runsShow() *cobra.Command {
	var calls bool
	var step string
	cmd := &cobra.Command{Use: "show RUN",
		Short: "Show a run with its tasks, steps and model calls",
		Long: "Show a run with its tasks, steps and model calls. With --calls, show what each call sent and got " +
			"instead, with secrets replaced. A reply that was not valid is marked with ✗, and the next round says why.",
		Example: "  cairn runs show run_0h3xk9m2p7q4r8s1t5v6w0y3zd\n" +
			"  cairn runs show run_0h3xk9m2p7q4r8s1t5v6w0y3zd --calls --call segment", Args: exactly(1, "the run's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if calls || step != "" {
				return c.showCalls(cmd.Context(), args[0], step)
			}
			return c.showRun(cmd.Context(), args[0])
		}}
	cmd.Flags().BoolVar(&calls, "calls", false, "show the requests and replies of the model calls")
	cmd.Flags().StringVar(&step, "call", "", "show only those of a step, as the run lists it (default all)")
	return cmd
}

func (c *cli) listRuns(ctx context.Context, max int) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	var runs []run.Summary
	err = s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) (err error) {
		runs, err = q.Runs().Runs(ctx, max)
		return err
	})
	if err != nil {
		return err
	}
	if c.output == "json" {
		type row struct {
			Run        string      `json:"run"`
			Kind       run.Kind    `json:"kind"`
			Title      string      `json:"conversation"`
			Request    string      `json:"request"`
			Generation int         `json:"generation"`
			Attempt    int         `json:"attempt"`
			Status     run.Status  `json:"status"`
			Outcome    run.Outcome `json:"outcome,omitempty"`
			Reason     string      `json:"reason,omitempty"`
			WorkflowID string      `json:"workflow_id"`
			CreatedAt  time.Time   `json:"created_at"`
		}
		rows := make([]row, len(runs))
		for i, r := range runs {
			rows[i] = row{r.Ref.Run, r.Kind, r.Title, r.Key, r.Generation, r.Attempt, r.Status, r.Outcome, r.Reason,
				r.WorkflowID, r.CreatedAt}
		}
		return c.printJSON(map[string]any{"runs": rows})
	}
	if len(runs) == 0 {
		fmt.Fprintf(c.out, "no runs in workspace %q; create one with `cairn distill FILE`\n", s.workspace.Name)
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "RUN\tKIND\tCONVERSATION\tSTATUS\tOUTCOME\tCREATED")
	for _, r := range runs {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Ref.Run, r.Kind, r.Title, r.Status, r.Outcome,
			r.CreatedAt.Local().Format(time.DateTime))
	}
	return tw.Flush()
}

func (c *cli) showRun(ctx context.Context, id string) error {
	if err := run.CheckID(id); err != nil {
		return err
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	whole, err := s.Runs.Report(ctx, run.Ref{Workspace: s.workspace.ID, Run: id})
	if err != nil {
		return err
	}
	return c.printRun(s, whole)
}

// printRun prints a run with its tasks, steps and model calls.
func (c *cli) printRun(s *session, whole inspect.RunReport) error {
	whole.Report = s.linked(whole.Report)
	r := whole.Report
	if c.output == "json" {
		return c.printJSON(map[string]any{"run": whole, "calls": callRows(r)})
	}
	if whole.Agent != nil {
		printAgent(c.out, whole)
	} else {
		printReport(c.out, r)
	}
	if len(r.Calls) == 0 {
		return nil
	}
	fmt.Fprintln(c.out, "\n  model calls:")
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "    STEP\tROUND\tSTATE\tMODEL\tREQUESTS\tUNKNOWN\tIN\tOUT\tSECONDS\tERROR")
	for _, call := range r.Calls {
		fmt.Fprintf(tw, "    %s\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", call.Key.Step, call.Key.Round, call.State,
			call.Model, call.Attempts, call.Unknown, call.Input, call.Output, seconds(call), call.Error)
	}
	return tw.Flush()
}

// waitRun waits until a run of any kind has ended, and shows it.
func (c *cli) waitRun(ctx context.Context, id string) error {
	if err := run.CheckID(id); err != nil {
		return err
	}
	s, err := c.open(ctx, needs{temporal: true})
	if err != nil {
		return err
	}
	defer s.close()
	shown := ""
	for {
		r, err := s.Runs.Report(ctx, run.Ref{Workspace: s.workspace.ID, Run: id})
		if err != nil {
			return waited(ctx, err, "the run", "cairn runs wait "+id)
		}
		if r.Status == run.Ended {
			return c.printRun(s, r)
		}
		if attempt, _, _ := strings.Cut(r.Endpoint, ", next"); attempt != shown {
			if shown = attempt; shown != "" {
				fmt.Fprintln(c.errs, "endpoint: "+r.Endpoint)
			}
		}
		select {
		case <-ctx.Done(): // the next report fails
		case <-time.After(pollInterval):
		}
	}
}

func seconds(c run.Call) string {
	if c.FinishedAt == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", c.FinishedAt.Sub(c.StartedAt).Seconds())
}

func callRows(r distill.Report) []map[string]any {
	out := make([]map[string]any, len(r.Calls))
	for i, c := range r.Calls {
		out[i] = map[string]any{"step": c.Key.Step, "round": c.Key.Round, "state": c.State, "model": c.Model,
			"requests": c.Attempts, "unknown": c.Unknown,
			"input_tokens": c.Input, "cached_tokens": c.Cached, "output_tokens": c.Output, "cost_micros": c.CostMicros,
			"error_class": c.ErrorClass, "error": c.Error}
	}
	return out
}

func (c *cli) retryRun(ctx context.Context, id string, fresh bool) error {
	if err := run.CheckID(id); err != nil {
		return err
	}
	s, err := c.open(ctx, needs{temporal: true})
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.Runs.Retriable(ctx, run.Ref{Workspace: s.workspace.ID, Run: id}); err != nil {
		return err
	}
	r, err := s.Distill.Retry(ctx, distill.RetryRequest{Ref: run.Ref{Workspace: s.workspace.ID, Run: id},
		WorkspaceKey: s.workspace.Key, Fresh: fresh, Spec: app.DistillSpec(s.Config, "")})
	if err != nil {
		return err
	}
	if r.Status == run.Ended {
		return fault.New(fault.Internal, fmt.Sprintf("run %s was not reopened", id), "")
	}
	if err := s.Driver.Start(ctx, s.workspace.Key, importChannel, r); err != nil {
		s.Log.Warn("workflow start deferred to relay", "run", r.Ref.Run, "error", err)
	}
	refs := []run.Ref{r.Ref}
	if err := s.wait(ctx, refs, c.errs); err != nil {
		return err
	}
	return c.printReports(ctx, s, refs)
}
