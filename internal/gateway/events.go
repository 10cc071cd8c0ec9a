package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cairn/internal/converse"
	"cairn/internal/distill"
	"cairn/internal/host"
	"cairn/internal/run"
	"cairn/internal/store"
)

const (
	eventsEvery  = 250 * time.Millisecond // how often a stream looks for news
	beatEvery    = 10 * time.Second       // of silence, after which a comment tells that the stream lives
	writeTimeout = 10 * time.Second       // for one event; a client that takes none for longer has gone
	comeBack     = 1000                   // milliseconds until a client whose stream was ended early asks again
)

// AgentProgress is how far a turn or a review is.
type AgentProgress converse.Progress

type eventsInput struct {
	RunPath
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that was seen: the stream goes on after it"`
}

func (g *Gateway) eventRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/runs/{id}/events", id: "runEvents", tag: tagRuns, scope: Read,
		summary: "Watch a run until it has ended",
		about: "Server-sent events: `progress`, with the stages of its tasks or the steps of its agent, whenever they have changed; `end`, with the run's report (of a turn: with the answer), when the run has ended, after which the stream closes. " +
			"An event's id stands for what it tells, so a stream that was cut goes on where it stopped; one whose `end` was seen is answered with 204, at which a browser's EventSource stops. " +
			"`stopping` says that the gateway stops and the run goes on: ask again.",
		responses: map[string]*huma.Response{
			"200": {Description: "The events; the data of each is how far the run is, of the last one its report", Content: content("text/event-stream", &huma.Schema{
				OneOf: []*huma.Schema{schemaOf[distill.Progress](g), schemaOf[distill.Report](g), schemaOf[AgentProgress](g), schemaOf[host.AgentReport](g)}})},
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
	return &eventsOutput{Body: func(c huma.Context) {
		_, to := humago.Unwrap(c)
		s := &stream{w: to, control: http.NewResponseController(to), seen: in.LastEventID}
		if err := g.follow(c.Context(), s, w, first); err != nil && c.Context().Err() == nil {
			g.Log.Warn("a stream of events broke off", "run", ref.Run, "error", err) // the client asks again
		}
	}}, nil
}

// event is how far a run is at one moment. Its id is of what it says.
type event struct {
	id    string
	data  []byte
	ended bool
}

// watched is a run as a stream looks at it. Progress may be asked several times
// a second, the report once.
type watched struct {
	ref      run.Ref
	progress func(context.Context, run.Ref) (progress any, ended bool, err error)
	report   func(context.Context, run.Ref) (any, error)
}

func (g *Gateway) watched(ctx context.Context, ref run.Ref) (watched, error) {
	kind, err := g.KindOf(ctx, ref)
	if err != nil {
		return watched{}, err
	}
	if kind != run.Distill {
		return watched{ref, g.agentProgress, func(ctx context.Context, ref run.Ref) (any, error) { return g.AgentReport(ctx, ref) }}, nil
	}
	return watched{ref, g.distillProgress, func(ctx context.Context, ref run.Ref) (any, error) { return g.report(ctx, ref) }}, nil
}

func (g *Gateway) distillProgress(ctx context.Context, ref run.Ref) (any, bool, error) {
	p, err := g.Distill.Progress(ctx, ref)
	return p, p.Status == run.Ended, err
}

func (g *Gateway) agentProgress(ctx context.Context, ref run.Ref) (p any, ended bool, err error) {
	err = g.Store.WithWorkspace(ctx, ref.Workspace, func(q store.Queries) error {
		a, err := q.AgentProgress(ctx, ref.Run)
		p, ended = a, a.Status == run.Ended
		return err
	})
	return p, ended, err
}

func (w watched) event(ctx context.Context) (event, error) {
	p, ended, err := w.progress(ctx, w.ref)
	if err != nil {
		return event{}, err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return event{}, fmt.Errorf("encode the progress of run %d: %w", w.ref.Run, err)
	}
	sum := sha256.Sum256(data)
	return event{id: fmt.Sprintf("%x", sum[:8]), data: data, ended: ended}, nil
}

// whole is the last event: it carries the report, which is read this once.
func (w watched) whole(ctx context.Context, e event) (event, error) {
	r, err := w.report(ctx, w.ref)
	if err != nil {
		return e, err
	}
	if e.data, err = json.Marshal(r); err != nil {
		return e, fmt.Errorf("encode the report of run %d: %w", w.ref.Run, err)
	}
	return e, nil
}

// follow sends what is new until the run has ended or the gateway stops.
func (g *Gateway) follow(ctx context.Context, s *stream, w watched, e event) error {
	defer s.control.SetWriteDeadline(time.Time{}) // the connection may serve another request
	if err := s.open(); err != nil {
		return err
	}
	look, beat := time.NewTicker(eventsEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	for {
		if e.ended {
			e, err := w.whole(ctx, e)
			if err != nil {
				return err
			}
			return s.send("end", e)
		}
		if e.id != s.seen {
			if err := s.send("progress", e); err != nil {
				return err
			}
			beat.Reset(beatEvery)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-g.closing.Done():
			return s.write(fmt.Appendf(nil, "retry: %d\nevent: stopping\ndata: {}\n\n", comeBack))
		case <-beat.C:
			if err := s.write([]byte(": still there\n\n")); err != nil {
				return err
			}
		case <-look.C:
		}
		var err error
		if e, err = w.event(ctx); err != nil {
			return err
		}
	}
}

// stream writes events.
type stream struct {
	w       io.Writer
	control *http.ResponseController
	seen    string // id of the last event that the client has
}

func (s *stream) open() error {
	h := s.w.(http.ResponseWriter).Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies would hold events back
	return s.write([]byte(": hello\n\n"))
}

func (s *stream) send(name string, e event) error {
	s.seen = e.id
	return s.write(fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.id, name, bytes.TrimSpace(e.data)))
}

func (s *stream) write(p []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a connection without deadlines waits for ever
	if _, err := s.w.Write(p); err != nil {
		return err
	}
	return s.control.Flush()
}
