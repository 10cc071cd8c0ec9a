package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/run"
	"cairn/internal/service/apikey"
	"cairn/internal/service/conversation"
	"cairn/internal/service/distill"
	"cairn/internal/service/inspect"
)

// AgentProgress is how far a turn or a review is.
type AgentProgress conversation.Progress

type eventsInput struct {
	RunPath
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that was seen: the stream goes on after it"`
}

func (g *Gateway) eventRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/runs/{id}/events", id: "runEvents", tag: tagRuns,
		scope:   apikey.Read,
		summary: "Watch a run until it has ended",
		about: "Server-sent events: `progress`, with the stages of its tasks or the steps of its agent, whenever " +
			"they have changed; `end`, with the run's report (of a turn: with the answer), when the run has ended, " +
			"after which the stream closes. " +
			"An event's id stands for what it tells, so a stream that was cut goes on where it stopped; one whose " +
			"`end` was seen is answered with 204, at which a browser's EventSource stops. " +
			"`error` has the members of any error, when the stream cannot go on; `stopping` says that the gateway " +
			"stops. The run goes on after either: ask again.",
		responses: map[string]*huma.Response{
			"200": {Description: "The events; the data of each is how far the run is, of the last one its report",
				Content: content(eventText, &huma.Schema{
					OneOf: []*huma.Schema{schemaOf[distill.Progress](g), schemaOf[distill.Report](g),
						schemaOf[AgentProgress](g), schemaOf[inspect.AgentReport](g)}})},
			"204": {Description: "The end was seen before"}},
	}, g.runEvents)
}

type eventsOutput struct {
	Status int
	Body   func(huma.Context)
}

func (g *Gateway) runEvents(ctx context.Context, in *eventsInput) (*eventsOutput, error) {
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
