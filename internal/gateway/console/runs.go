package console

import (
	"slices"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
	"cairn/internal/service/inspect"
)

func (c *Console) runRoutes() {
	c.handle("GET runs", access.Read, c.listRuns)
	c.handle("GET runs/{run}", access.Read, c.showRun)
	c.handle("GET runs/{run}/events", access.Read, c.streamRun)
	c.handle("GET runs/{run}/call", access.Read, c.showCall)
	c.handle("POST runs/{run}/call", access.Admin, c.showUnmasked)
	c.handle("POST runs/{run}/retry", access.Write, c.retryRun)
	c.handle("POST runs/{run}/cancel", access.Write, c.cancelRun)
}

var (
	runKinds = []string{"turn", "distill", "nudge", "summarize", "specialist", "retrieve", "completion", "reflection",
		"build", "train", "evolve", "adapt", "probe", "evaluate", "offload", "flush"}
	runStatuses = []string{"accepted", "running", "ended"}
	runOutcomes = []string{"completed", "completed_partial", "nothing_to_extract", "gated", "over_budget", "failed",
		"cancelled"}
)

type runsPage struct {
	Runs                      []readmodel.Run
	Next                      string
	Kinds, Statuses, Outcomes []string
}

func (c *Console) listRuns(rq *request) (err error) {
	out := runsPage{Kinds: runKinds, Statuses: runStatuses, Outcomes: runOutcomes}
	f := readmodel.RunFilter{
		Conversation: clipText(rq.text("conversation"), 200),
		Model:        clipText(rq.text("model"), 200),
	}
	if f.Kind, err = rq.choice("kind", runKinds...); err != nil {
		return err
	}
	if f.Status, err = rq.choice("status", runStatuses...); err != nil {
		return err
	}
	if f.Outcome, err = rq.choice("outcome", runOutcomes...); err != nil {
		return err
	}
	limit, err := rq.limit()
	if err != nil {
		return err
	}
	out.Runs, out.Next, err = c.Explore.Runs(rq.ctx, rq.ws(), f, rq.text("cursor"), limit)
	if err != nil {
		return err
	}
	return rq.render("runs", "runs.title", out)
}

// spanRow is a span with its place in the waterfall.
type spanRow struct {
	inspect.Span
	Bar chartBar
}

type runPage struct {
	Report   inspect.RunReport
	Run      string
	Timeline inspect.Timeline
	Spans    []spanRow
	Folded   int // spans that are not shown
	Open     bool
	CanRetry bool
	CanEnd   bool   // it can be canceled
	Seen     string // state of the timeline, for the events
}

// maxSpans is the number of rows of a waterfall.
const maxSpans = 500

func (rq *request) runRef() (run.Ref, error) {
	id := rq.named("run")
	return run.Ref{Workspace: rq.ws(), Run: id}, run.CheckID(id)
}

func (c *Console) showRun(rq *request) error {
	ref, err := rq.runRef()
	if err != nil {
		return err
	}
	out := runPage{Run: ref.Run}
	if out.Report, err = c.Runs.Report(rq.ctx, ref); err != nil {
		return err
	}
	if out.Timeline, err = c.Explore.Timeline(rq.ctx, ref); err != nil {
		return err
	}
	out.Open = out.Report.Status != run.Ended
	out.CanRetry = !out.Open && out.Report.Kind == run.Distill
	out.CanEnd = out.Open && (out.Report.Kind == run.Turn || inspect.Cancelable(run.Run{Ref: ref,
		Kind: out.Report.Kind, WorkflowID: out.Report.WorkflowID}) == nil)
	out.Seen = out.Timeline.State()
	end := time.Now()
	if out.Timeline.To != nil {
		end = *out.Timeline.To
	}
	for _, s := range out.Timeline.Spans {
		if s.To != nil && s.To.After(end) {
			end = *s.To
		}
	}
	for i, s := range out.Timeline.Spans {
		if i == maxSpans {
			out.Folded = len(out.Timeline.Spans) - maxSpans
			break
		}
		to := end
		if s.To != nil {
			to = *s.To
		}
		kind := s.Kind
		if s.Failed() {
			kind = "failed"
		}
		out.Spans = append(out.Spans, spanRow{s, newChartBar(kind, out.Timeline.From, end, s.From, to)})
	}
	return rq.render("run", "run.title", out)
}

// sizes returns the shares of the roles of messages.
func sizes(messages []llm.Message) (out []partSize) {
	total := 0
	for _, m := range messages {
		n := len([]rune(m.Content))
		total += n
		i := slices.IndexFunc(out, func(p partSize) bool { return p.Role == string(m.Role) })
		if i < 0 {
			out, i = append(out, partSize{Role: string(m.Role)}), len(out)
		}
		out[i].Runes += n
	}
	for i := range out {
		if total > 0 {
			out[i].Share = float64(out[i].Runes) / float64(total)
		}
	}
	return out
}

func (c *Console) retryRun(rq *request) error {
	ref, err := rq.runRef()
	if err != nil {
		return err
	}
	if err := c.Runs.Retriable(rq.ctx, ref); err != nil {
		return rq.again(err, c.showRun)
	}
	r, err := c.Distill.Retry(rq.ctx, distill.RetryRequest{Ref: ref, WorkspaceKey: rq.grant.Workspace.Key,
		Fresh: rq.r.PostFormValue("fresh") == "yes", Spec: c.Options.DistillSpec()})
	if err != nil {
		return rq.again(err, c.showRun)
	}
	if r.Status != run.Ended {
		c.Start(rq.ctx, rq.grant.Workspace.Key, r)
	}
	return rq.redirect("retried", "runs", r.Ref.Run)
}

// cancelRun asks an open run to end. A turn is canceled in its conversation.
func (c *Console) cancelRun(rq *request) error {
	ref, err := rq.runRef()
	if err != nil {
		return err
	}
	kind, err := c.Runs.KindOf(rq.ctx, ref)
	if err != nil {
		return err
	}
	asked := false
	if kind == run.Turn {
		var a *inspect.AgentReport
		if a, err = c.Runs.AgentReport(rq.ctx, ref); err == nil {
			asked, err = c.Conversations.Cancel(rq.ctx, rq.grant.Workspace, a.Conversation, a.MessageID)
		}
	} else {
		asked, err = c.Runs.Cancel(rq.ctx, ref)
	}
	if err != nil {
		return rq.again(err, c.showRun)
	}
	if !asked {
		return rq.redirect("unchanged", "runs", ref.Run)
	}
	return rq.redirect("canceled", "runs", ref.Run)
}

const runLooks = time.Second // between two looks at an open run

// streamRun sends an event when something has changed in an open run, and when it has ended. The page loads itself
// again then.
func (c *Console) streamRun(rq *request) error {
	ref, err := rq.runRef()
	if err != nil {
		return err
	}
	line, err := c.Explore.Timeline(rq.ctx, ref)
	if err != nil {
		return err
	}
	seen := line.State()
	if shown := rq.text("seen"); shown != "" {
		seen = shown // what the page shows
	}
	s, err := rq.stream(runLooks)
	if err != nil {
		return err
	}
	defer s.Close()
	for line.State() == seen && line.To == nil {
		if s.Wait(nil, nil, nil) != nil {
			return nil
		}
		if line, err = c.Explore.Timeline(rq.ctx, ref); err != nil {
			return nil // the browser asks again
		}
	}
	_ = sendText(s, "changed", "") // a write error means that the browser has gone
	return nil
}
