package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/service/vectorspace"
)

// reembedFlags are the flags of the command reembed.
type reembedFlags struct {
	vectorspace.Options
	estimate, detach bool
}

func (c *cli) reembed() *cobra.Command {
	var f reembedFlags
	cmd := &cobra.Command{Use: "reembed", Short: "Change the embedding model of existing documents",
		Long: "Compute the vectors of all documents with the configured embedding model, in the workspace that " +
			"--workspace selects, else in all workspaces. A durable workflow does it: it survives restarts, and a " +
			"second call does not start it twice. Searches use the vectors of the previous model until all documents " +
			"have new ones.\n\nThe vectors of the previous model are kept for 7 days. To return to them, use " +
			"--rollback.",
		Example: "  cairn reembed --estimate\n  cairn reembed --rate 50\n" +
			"  cairn reembed --workspace default --rollback", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withSession(
				cmd.Context(),
				needs{temporal: !f.estimate, make: c.workspace == ""},
				func(s *session) error {
					if f.estimate {
						return c.reembedEstimate(cmd.Context(), s, f.Options)
					}
					return c.reembedStart(cmd.Context(), s, f)
				},
			)
		}}
	cmd.Flags().IntVar(&f.Rate, "rate", 0, "documents per second (default no limit)")
	cmd.Flags().BoolVar(&f.Rollback, "rollback", false, "return to the previous embedding space")
	cmd.Flags().BoolVar(&f.estimate, "estimate", false, "count the documents without starting")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "do not wait for the end")
	cmd.AddCommand(c.reembedStatus())
	for action, short := range map[string]string{contract.PauseReembed: "Pause running re-embeddings",
		contract.ResumeReembed: "Resume paused re-embeddings",
		contract.CancelReembed: "Cancel re-embeddings; existing vectors are kept"} {
		cmd.AddCommand(
			&cobra.Command{Use: action, Short: short, Example: "  cairn reembed " + action, Args: noArguments,
				RunE: func(cmd *cobra.Command, _ []string) error {
					return c.withSession(
						cmd.Context(),
						needs{temporal: true, make: c.workspace == ""},
						func(s *session) error {
							return c.reembedSteer(cmd.Context(), s, action)
						},
					)
				}},
		)
	}
	return cmd
}

func (c *cli) reembedStatus() *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show embedding spaces and the progress of re-embeddings",
		Example: "  cairn reembed status\n  cairn reembed status --output json", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withSession(cmd.Context(), needs{make: c.workspace == ""}, func(s *session) error {
				reports, err := c.reembedReports(cmd.Context(), s)
				if err != nil {
					return err
				}
				return c.printReembed(reports)
			})
		}}
}

// eachWorkspace calls do with the workspace of --workspace, or with all workspaces.
func (c *cli) eachWorkspace(ctx context.Context, s *session, do func(access.Workspace) error) error {
	if c.workspace != "" {
		return do(s.workspace)
	}
	return s.Reembed.Each(ctx, do)
}

// workspaceReport is the report of one workspace.
type workspaceReport struct {
	Workspace string `json:"workspace"`
	vectorspace.Report
}

func (c *cli) reembedReports(ctx context.Context, s *session) (out []workspaceReport, err error) {
	err = c.eachWorkspace(ctx, s, func(ws access.Workspace) error {
		r, err := s.Reembed.Status(ctx, ws.ID)
		out = append(out, workspaceReport{ws.Name, r})
		return err
	})
	return out, err
}

func (c *cli) reembedEstimate(ctx context.Context, s *session, o vectorspace.Options) error {
	type row struct {
		Workspace string `json:"workspace"`
		vectorspace.Estimate
	}
	rows := []row{}
	err := c.eachWorkspace(ctx, s, func(ws access.Workspace) error {
		e, err := s.Reembed.Estimate(ctx, ws.ID, o)
		if c.workspace == "" && fault.CodeOf(err) == fault.NotFound { // no previous space
			return nil
		}
		rows = append(rows, row{ws.Name, e})
		return err
	})
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(rows)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "WORKSPACE\tMODEL\tDIMENSIONS\tDOCUMENTS\tCHARACTERS\tREQUESTS\tTIME")
	for _, r := range rows {
		took := "-"
		if r.Seconds > 0 {
			took = (time.Duration(r.Seconds) * time.Second).String()
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", r.Workspace, r.Model, r.Dims, r.Documents, r.Characters,
			r.Requests, took)
	}
	return tw.Flush()
}

func (c *cli) reembedStart(ctx context.Context, s *session, f reembedFlags) error {
	running := map[string]string{} // workflow ID by workspace
	err := c.eachWorkspace(ctx, s, func(ws access.Workspace) error {
		started, err := s.Reembed.Start(ctx, ws, f.Options)
		if c.workspace == "" && fault.CodeOf(err) == fault.NotFound { // no previous space
			return nil
		}
		if started.Running {
			running[ws.Name] = contract.ReembedID(ws.Key, started.Space)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(running) == 0 {
		fmt.Fprintln(c.errs, "nothing to re-embed")
	}
	if !f.detach {
		if err := c.reembedWait(ctx, s, running); err != nil {
			return err
		}
	}
	reports, err := c.reembedReports(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(c.printReembed(reports), failedReembed(reports, running))
}

// reembedWait waits until the started re-embeddings have ended.
func (c *cli) reembedWait(ctx context.Context, s *session, running map[string]string) error {
	for name, id := range running {
		fmt.Fprintf(c.errs, "re-embedding workspace %s; see `cairn reembed status` for the progress\n", name)
		if err := s.Driver.Ended(ctx, id); err != nil {
			return waited(ctx, err, "the re-embedding", "cairn reembed status")
		}
	}
	return nil
}

// failedReembed returns an error if a started re-embedding has failed or was cancelled.
func failedReembed(reports []workspaceReport, running map[string]string) error {
	for _, r := range reports {
		if running[r.Workspace] == "" || r.Reembed == nil {
			continue
		}
		switch r.Reembed.State {
		case vectorspace.Failed:
			return fault.New(fault.Unavailable, fmt.Sprintf("the re-embedding of workspace %q failed: %s", r.Workspace,
				r.Reembed.Reason), "correct the cause and run `cairn reembed` again; existing vectors are kept")
		case vectorspace.Cancelled:
			return fault.New(
				fault.Cancelled,
				fmt.Sprintf("the re-embedding of workspace %q was cancelled", r.Workspace),
				"run `cairn reembed` to continue; existing vectors are kept",
			)
		}
	}
	return nil
}

func (c *cli) reembedSteer(ctx context.Context, s *session, action string) error {
	names := []string{}
	err := c.eachWorkspace(ctx, s, func(ws access.Workspace) error {
		err := s.Reembed.Steer(ctx, ws, action)
		if c.workspace == "" && fault.CodeOf(err) == fault.NotFound {
			return nil
		}
		if err == nil {
			names = append(names, ws.Name)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fault.New(fault.NotFound, "no re-embedding is running", "start one with `cairn reembed`")
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"action": action, "workspaces": names})
	}
	for _, name := range names {
		fmt.Fprintf(c.out, "%s requested: workspace %s\n", action, name)
	}
	return nil
}

func (c *cli) printReembed(reports []workspaceReport) error {
	if c.output == "json" {
		return c.printJSON(map[string]any{"workspaces": reports})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "WORKSPACE\tSPACE\tMODEL\tDIMENSIONS\tSTATE\tVECTORS\tCOVERAGE")
	for _, r := range reports {
		for _, one := range r.Spaces {
			fmt.Fprintf(tw, "%s\t%d\t%s\t%d\t%s\t%d of %d\t%.0f%%\n", r.Workspace, one.Space, one.Model, one.Dims,
				one.State, one.Vectors, r.Documents, 100*one.Coverage)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, r := range reports {
		if r.Reembed != nil {
			c.printReembedding(r.Workspace, *r.Reembed)
		}
		if r.Vector != "" {
			fmt.Fprintf(c.out, "%s: no configured model serves its vectors, so searches compare words only; run "+
				"`cairn reembed`\n", r.Workspace)
		}
	}
	return nil
}

func (c *cli) printReembedding(workspace string, r vectorspace.Reembedding) {
	fmt.Fprintf(c.out, "%s: re-embedding to %s (%d dimensions) %s, %d of %d documents, %d refused", workspace, r.Model,
		r.Dims, r.State, r.Done, r.Total, r.Failed)
	if r.Seconds > 0 {
		fmt.Fprintf(c.out, ", about %s left", time.Duration(r.Seconds)*time.Second)
	}
	if r.Reason != "" {
		fmt.Fprintf(c.out, ": %s", r.Reason)
	}
	fmt.Fprintln(c.out)
	for _, one := range r.Refused {
		fmt.Fprintf(c.out, "  refused: %s %s: %s\n", one.Kind, one.Name, one.Reason)
	}
}
