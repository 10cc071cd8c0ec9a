package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/distill"
	"cairn/internal/service/inspect"
)

// AgentProgress is the progress of a turn or a review.
type AgentProgress conversation.Progress

type eventsInput struct {
	RunPath
	LastEventID string `header:"Last-Event-ID" doc:"ID of the last event that the client received; the stream continues after it"`
}

func (g *Gateway) eventRoutes() {
	handle(g, route{
		method:  http.MethodGet,
		path:    "/v1/runs/{id}/events",
		id:      "runEvents",
		tag:     tagRuns,
		scope:   access.Read,
		summary: "Stream the events of a run",
		about: "The server-sent event `progress` carries the stages of the run's tasks or the steps of its agent, " +
			"whenever they change. The event `end` carries the run's report, or the reply of a turn, when the run " +
			"has ended, and closes the stream. An event's ID identifies its content, so a broken stream resumes " +
			"where it stopped. If the client has received `end`, the response is 204, and a browser's EventSource " +
			"stops. The event `error` carries a standard error if the stream cannot continue. The event `stopping` " +
			"means that the gateway stops, or that the stream is older than an hour. The run continues after either " +
			"event: connect again.",
		responses: map[string]*huma.Response{
			"200": {
				Description: "The events. The data of each is the progress of the run; the data of the last one is " +
					"its report",
				Content: content(edge.EventText, &huma.Schema{
					OneOf: []*huma.Schema{schemaOf[distillation.Progress](g), schemaOf[distill.Report](g),
						schemaOf[AgentProgress](g), schemaOf[inspect.AgentReport](g)}}),
			},
			"204": {Description: "The client has received `end`"},
		},
	}, g.runEvents)
}

type eventsOutput struct {
	Status int
	Body   func(huma.Context)
}

func (g *Gateway) runEvents(ctx context.Context, in *eventsInput) (*eventsOutput, error) {
	if err := g.streamRoom(ctx); err != nil {
		return nil, err
	}
	ref := run.Ref{Workspace: workspace(ctx), Run: in.ID}
	w, err := g.watched(ctx, ref)
	if err != nil {
		return nil, err
	}
	first, err := w.event(ctx)
	if err != nil {
		return nil, err
	}
	if first.ended && first.id == in.LastEventID {
		return &eventsOutput{Body: func(c huma.Context) { c.SetStatus(http.StatusNoContent) }}, nil
	}
	return &eventsOutput{Body: g.streamed("runEvents", in.LastEventID, w, first)}, nil
}

func (g *Gateway) watched(ctx context.Context, ref run.Ref) (watched, error) {
	kind, err := g.Runs.KindOf(ctx, ref)
	if err != nil {
		return watched{}, err
	}
	if kind != run.Distill {
		return watched{progress: g.agentProgress(ref), report: func(ctx context.Context) (any, error) {
			return g.Runs.AgentReport(ctx, ref)
		}}, nil
	}
	return watched{progress: g.distillProgress(ref), report: func(ctx context.Context) (any, error) {
		return g.report(ctx, ref)
	}}, nil
}

func (g *Gateway) distillProgress(ref run.Ref) func(context.Context) (any, bool, error) {
	return func(ctx context.Context) (any, bool, error) {
		p, err := g.Distill.Progress(ctx, ref)
		return p, p.Status == run.Ended, err
	}
}

func (g *Gateway) agentProgress(ref run.Ref) func(context.Context) (any, bool, error) {
	return func(ctx context.Context) (any, bool, error) {
		a, err := g.Runs.Progress(ctx, ref)
		return a, a.Status == run.Ended, err
	}
}
