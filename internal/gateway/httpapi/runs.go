package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
	"cairn/internal/service/inspect"
)

// RunSummary is a run in a list.
type RunSummary struct {
	Run        string      `json:"run"`
	Kind       run.Kind    `json:"kind"`
	Title      string      `json:"conversation"`
	Request    string      `json:"request"`
	Generation int         `json:"generation" doc:"Increased by a redo, whose model calls are paid again"`
	Attempt    int         `json:"attempt" doc:"Increased by a retry, which reuses stored replies"`
	Status     run.Status  `json:"status"`
	Outcome    run.Outcome `json:"outcome,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	CreatedAt  time.Time   `json:"created_at"`
	EndedAt    *time.Time  `json:"ended_at,omitempty"`
	Links      RunLinks    `json:"links"`

	ConversationID string `json:"conversation_id,omitempty" doc:"The caller's ID of the conversation"`
	Models         string `json:"models,omitempty" doc:"Models of its calls, separated by commas"`
	Calls          int64  `json:"calls"`
	Tokens         int64  `json:"tokens"`
	CostMicros     *int64 `json:"cost_micros,omitempty" doc:"Micro-dollars, of calls with a known price; absent if no call has one"`
}

// RunDetail is a run's report with all model calls. For a turn or a review, Agent holds the
// steps and there are no tasks.
type RunDetail struct {
	inspect.RunReport
	ModelCalls []RunCall `json:"calls"`
	Links      RunLinks  `json:"links"`
}

// RunCall is a model call of a run. Unknown is the number of requests that were in flight
// at a crash and may have been paid.
type RunCall struct {
	Step       string        `json:"step"`
	Round      int           `json:"round" doc:"0 for the first request, then one more for each repair"`
	State      run.CallState `json:"state"`
	Model      string        `json:"model"`
	Requests   int           `json:"requests"`
	Unknown    int           `json:"unknown"`
	Input      int64         `json:"input_tokens"`
	Cached     int64         `json:"cached_tokens,omitempty" doc:"Part of the input that was read from a cache"`
	Written    int64         `json:"written_tokens,omitempty" doc:"Part of the input that was written to a cache"`
	Output     int64         `json:"output_tokens"`
	CostMicros *int64        `json:"cost_micros,omitempty"`
	ErrorClass string        `json:"error_class,omitempty"`
	Error      string        `json:"error,omitempty"`
}

// RunPath is the path parameter that names a run. (Huma reads embedded parameters of exported types only.)
type RunPath struct {
	ID string `path:"id" pattern:"^run_[0-9a-hjkmnp-tv-z]{26}$" doc:"The run's ID"`
}

// Resolve explains an ID of another form.
func (p *RunPath) Resolve(huma.Context) []error {
	if err := run.CheckID(p.ID); err != nil {
		return []error{err}
	}
	return nil
}

// bodyOf is a response that consists of a body.
type bodyOf[T any] struct{ Body T }

// RunList is a page of runs, the newest first.
type RunList struct {
	Runs       []RunSummary `json:"runs"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

func (g *Gateway) runRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/runs", id: "listRuns", tag: tagRuns, scope: access.Read,
		summary: "List the latest runs, newest first"}, g.listRuns)
	handle(g, route{method: http.MethodGet, path: "/v1/runs/{id}", id: "showRun", tag: tagRuns, scope: access.Read,
		summary: "Get a run with its tasks or agent steps, and all model calls"}, g.showRun)
	accepted := content("application/json", schemaOf[AcceptedRequest](g))
	handle(g, route{
		method: http.MethodPost,
		path:   "/v1/runs/{id}/retry",
		id:     "retryRun",
		tag:    tagRuns,
		scope:  access.Write,
		status: http.StatusAccepted,
		responses: map[string]*huma.Response{
			"200": {Description: "The run has ended; contains its report", Content: accepted},
			"202": {Description: "Accepted", Content: accepted},
		},
		summary: "Retry an ended run from its stored replies, or run it again",
		about: "Failed tasks are retried, and only missing replies are paid for. With fresh, the run's next " +
			"generation repeats and pays all model calls.",
	}, g.retryRun)
	handle(g, route{
		method:  http.MethodPost,
		path:    "/v1/runs/{id}/cancel",
		id:      "cancelRun",
		tag:     tagRuns,
		scope:   access.Write,
		summary: "Ask an open run to end",
		about: "Its calls stop, and what it has stored stays. A turn is answered with what it has so far. A review " +
			"before a compaction, and a session that one model call adds with others, cannot be canceled alone.",
	}, g.cancelRun)
}

// CancelRequested reports whether a run was asked to end.
type CancelRequested struct {
	Requested bool `json:"requested" doc:"False if the run has ended"`
}

func (g *Gateway) cancelRun(ctx context.Context, in *RunPath) (*bodyOf[CancelRequested], error) {
	from := asking(ctx)
	ref := run.Ref{Workspace: from.Workspace.ID, Run: in.ID}
	kind, err := g.Runs.KindOf(ctx, ref)
	if err != nil {
		return nil, err
	}
	if kind != run.Turn {
		asked, err := g.Runs.Cancel(ctx, ref)
		return &bodyOf[CancelRequested]{CancelRequested{asked}}, err
	}
	a, err := g.Runs.AgentReport(ctx, ref)
	if err != nil {
		return nil, err
	}
	asked, err := g.Conversations.Cancel(ctx, from.Workspace, a.Conversation, a.MessageID)
	return &bodyOf[CancelRequested]{CancelRequested{asked}}, err
}

func (g *Gateway) listRuns(ctx context.Context, in *struct {
	Kind         string `query:"kind" maxLength:"30" doc:"Only this kind, such as turn or distill"`
	Status       string `query:"status" enum:"accepted,running,ended"`
	Outcome      string `query:"outcome" maxLength:"40" doc:"Only this outcome, such as completed or failed"`
	Conversation string `query:"conversation" maxLength:"200" doc:"Only of the conversation with this ID"`
	Model        string `query:"model" maxLength:"200" doc:"Only with a call of this model"`
	Limit        int    `query:"limit" default:"20" minimum:"1" maximum:"1000"`
	Cursor       string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}) (*bodyOf[RunList], error) {
	out := &bodyOf[RunList]{RunList{Runs: []RunSummary{}}}
	runs, next, err := g.Explore.Runs(ctx, workspace(ctx), readmodel.RunFilter{Kind: in.Kind, Status: in.Status,
		Outcome: in.Outcome, Conversation: in.Conversation, Model: in.Model}, in.Cursor, in.Limit)
	out.Body.NextCursor = next
	for _, r := range runs {
		out.Body.Runs = append(out.Body.Runs,
			RunSummary{Run: r.Ref.Run, Kind: r.Kind, Title: r.Title, Request: r.Key, Generation: r.Generation,
				Attempt: r.Attempt,
				Status:  r.Status, Outcome: r.Outcome, Reason: r.Reason, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
				Links: g.runLinks(r.Ref.Run, r.WorkflowID), ConversationID: r.Conversation, Models: r.Models,
				Calls: r.Calls, Tokens: r.Tokens, CostMicros: r.Cost()})
	}
	return out, err
}

func (g *Gateway) showRun(ctx context.Context, in *RunPath) (*bodyOf[RunDetail], error) {
	r, err := g.Runs.Report(ctx, run.Ref{Workspace: workspace(ctx), Run: in.ID})
	if err != nil {
		return nil, err
	}
	r.Report = g.linked(r.Report)
	out := RunDetail{RunReport: r, ModelCalls: []RunCall{}, Links: g.runLinks(in.ID, r.WorkflowID)}
	for _, c := range r.Calls {
		out.ModelCalls = append(out.ModelCalls,
			RunCall{
				Step:       c.Key.Step,
				Round:      c.Key.Round,
				State:      c.State,
				Model:      c.Model,
				Requests:   c.Attempts,
				Unknown:    c.Unknown,
				Input:      c.Input,
				Cached:     c.Cached,
				Written:    c.Written,
				Output:     c.Output,
				CostMicros: c.CostMicros,
				ErrorClass: c.ErrorClass,
				Error:      c.Error,
			})
	}
	return &bodyOf[RunDetail]{out}, nil
}

func (g *Gateway) retryRun(ctx context.Context, in *struct {
	RunPath
	Fresh bool `query:"fresh" doc:"Start a new generation that repeats and pays all model calls"`
	Wait  int  `query:"wait" minimum:"0" maximum:"60" doc:"Seconds to wait for the report"`
}) (*acceptedOutput, error) {
	from := asking(ctx)
	if err := g.Runs.Retriable(ctx, run.Ref{Workspace: from.Workspace.ID, Run: in.ID}); err != nil {
		return nil, err
	}
	r, err := g.Distill.Retry(ctx, distill.RetryRequest{Ref: run.Ref{Workspace: from.Workspace.ID, Run: in.ID},
		WorkspaceKey: from.Workspace.Key, Fresh: in.Fresh, Spec: g.Options.DistillSpec("", "", "")})
	if err != nil {
		return nil, err
	}
	return g.accepted(ctx, r, r.Ref.Run != in.ID, time.Duration(in.Wait)*time.Second)
}
