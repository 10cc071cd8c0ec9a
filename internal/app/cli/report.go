package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
	"cairn/internal/service/inspect"
)

// printReports prints the reports of runs. It returns an error if one of them failed.
func (c *cli) printReports(ctx context.Context, s *session, refs []run.Ref) error {
	reports := make([]distill.Report, len(refs))
	for i, ref := range refs {
		r, err := s.Distill.Report(ctx, ref)
		if err != nil {
			return err
		}
		reports[i] = s.linked(r)
	}
	if c.output == "json" {
		if err := c.printJSON(map[string]any{"model": s.models(), "runs": reports}); err != nil {
			return err
		}
	} else {
		for i, r := range reports {
			if i > 0 {
				fmt.Fprintln(c.out)
			}
			printReport(c.out, r)
		}
	}
	return failure(reports)
}

// failure is the error of the first run that failed or exceeded its budget, or nil.
func failure(reports []distill.Report) error {
	for _, r := range reports {
		if r.Outcome != run.Failed && r.Outcome != run.OverBudget {
			continue
		}
		code := fault.Code(r.Code)
		if _, known := fault.Table[code]; !known {
			code = fault.ModelInvalid
		}
		reason := r.Reason
		for _, t := range r.Tasks {
			if reason == "" && t.Outcome == distillation.Failed {
				reason = t.Reason
			}
		}
		return fault.New(code, fmt.Sprintf("run %s %s: %s", r.Run, r.Outcome, reason),
			fmt.Sprintf("see `cairn runs show %s` for details; run `cairn runs retry %s` to resume from stored "+
				"replies", r.Run, r.Run))
	}
	return nil
}

func (s *session) linked(r distill.Report) distill.Report {
	r.Link = s.WorkflowLink(r.WorkflowID)
	for i := range r.Tasks {
		r.Tasks[i].Link = s.WorkflowLink(r.Tasks[i].WorkflowID)
	}
	return r
}

func printReport(w io.Writer, r distill.Report) {
	fmt.Fprintf(w, "run %s · %s · %d messages\n", r.Run, title(r), r.Messages)
	status := string(r.Status)
	if r.Outcome != "" {
		status = string(r.Outcome)
	}
	fmt.Fprintf(w, "  %s%s\n", status, because(r.Reason))
	if r.Endpoint != "" {
		fmt.Fprintf(w, "  endpoint: %s\n", r.Endpoint)
	}
	for i, t := range r.Tasks {
		fmt.Fprintf(w, "\n  task %d: %s\n", i+1, t.Name)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		row := func(name, value string) {
			if value != "" {
				fmt.Fprintf(tw, "    %s\t%s\n", name, value)
			}
		}
		row("outcome", outcome(t))
		if t.Skill != "" {
			row("skill", fmt.Sprintf("%s, version %d, %s", t.Skill, t.Version, t.Status))
			if t.Quality != nil {
				row("quality", strings.TrimPrefix(t.Quality.String(), "quality "))
			}
			row("package", t.Package)
			row("SKILL.md", t.SkillMD)
		}
		row("omitted", strings.Join(t.Degraded, "; "))
		row("rejected", strings.Join(t.Violations, "; "))
		row("notes", strings.Join(t.Notes, "; "))
		row("model", fmt.Sprintf("%d calls, %d tokens", t.Calls, t.Tokens))
		row("workflow", t.WorkflowID)
		row("Temporal UI", t.Link)
		_ = tw.Flush()
	}
	printEnd(w, r)
}

// printAgent prints what an agent did in a turn or a review.
func printAgent(w io.Writer, r inspect.RunReport) {
	a := r.Agent
	fmt.Fprintf(w, "run %s · %s of %s\n", r.Run, r.Kind, a.Conversation)
	status := string(r.Status)
	if r.Outcome != "" {
		status = string(r.Outcome)
	}
	fmt.Fprintf(w, "  %s%s\n  %d steps\n", status, because(strings.TrimSpace(a.Reason+" "+a.Result)), a.Steps)
	for _, t := range a.Tools {
		fmt.Fprintf(w, "  step %d: %s%s\n", t.Step, t.Tool, because(t.Code))
	}
	if o := r.Offload; o != nil {
		fmt.Fprintf(w, "  %d tokens of summaries%s\n", o.Tokens, because(o.Degraded))
		if o.Upto > 0 {
			fmt.Fprintf(w, "  %d tokens of the turns up to %d, offloaded as %s\n", o.Was, o.Upto,
				strings.Join(o.Handles, ", "))
		}
	}
	if a.Record != "" {
		fmt.Fprintf(w, "  the conversation starts with the compaction of run %s\n", a.Record)
	}
	if a.Reply != "" {
		fmt.Fprintf(w, "\n  %s\n", strings.ReplaceAll(a.Reply, "\n", "\n  "))
	}
	printEnd(w, r.Report)
}

func printEnd(w io.Writer, r distill.Report) {
	fmt.Fprintf(w, "\n  total: %s\n  workflow: %s\n", usage(r.Usage), r.WorkflowID)
	switch r.Pruned {
	case run.PrunedCalls:
		fmt.Fprintln(w, "  pruned: the model calls were removed after CAIRN_RETENTION_CALLS")
	case run.PrunedAll:
		fmt.Fprintln(w, "  pruned: the details were removed after CAIRN_RETENTION_RUNS")
	}
	if r.Link != "" {
		fmt.Fprintf(w, "  Temporal UI: %s\n", r.Link)
	}
}

func title(r distill.Report) string {
	if r.Title != "" {
		return r.Title
	}
	return r.Request
}

func outcome(t distill.TaskReport) string {
	if t.Outcome == "" {
		return string(t.Stage)
	}
	return string(t.Outcome) + because(t.Reason)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func usage(u run.Usage) string {
	out := fmt.Sprintf("%d model calls, %d tokens in%s, %d out", u.Keys, u.Input, fromCache(u.Cached), u.Output)
	if u.Estimated {
		out += " (estimated)"
	}
	if u.CostMicros != nil && *u.CostMicros > 0 {
		out += fmt.Sprintf(", $%.4f", float64(*u.CostMicros)/1e6)
	}
	if u.Unknown > 0 {
		out += fmt.Sprintf(", %d in flight at a crash (possibly billed)", u.Unknown)
	}
	return out
}

// fromCache is the part of the input that an endpoint read from a cache, or an empty text.
func fromCache(tokens int64) string {
	if tokens == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d cached)", tokens)
}

func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
