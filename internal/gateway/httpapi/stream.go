package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

const (
	eventText    = "text/event-stream"
	eventsEvery  = 250 * time.Millisecond // how often a stream looks for news
	beatEvery    = 10 * time.Second       // of silence, after which a comment tells that the stream lives
	writeTimeout = 10 * time.Second       // for one event; a client that takes none for longer has gone
	comeBack     = 1000                   // milliseconds until a client whose stream was ended early asks again
)

// StreamOption lets a request be answered with events.
type StreamOption struct {
	Stream bool `json:"stream,omitempty" doc:"Answer with server-sent events in place of one JSON body"`
}

// streamAbout says what they are.
const streamAbout = " With stream it answers with server-sent events: `progress`, how far the agent's run is, " +
	"whenever that has changed; at last `end`, with the body of the plain answer, or `error`, with the members of " +
	"any error. " +
	"`stopping` says that the gateway stops. A comment every ten seconds keeps the connection alive. The run goes " +
	"on when the connection does not; /v1/runs/{id}/events has its own events."

// events describes an answer that is a T, or events with one at their end.
func events[T any](g *Gateway) map[string]*huma.MediaType {
	all := content("application/json", schemaOf[T](g))
	all[eventText] = &huma.MediaType{Schema: &huma.Schema{
		OneOf: []*huma.Schema{schemaOf[AgentProgress](g), schemaOf[T](g), schemaOf[Problem](g)}}}
	return all
}

// repliedOutput is an answer that is one body, or events.
type repliedOutput struct {
	Location string `header:"Location"`
	Body     func(huma.Context)
}

// plain is an answer with one body.
func (g *Gateway) plain(status int, body any) func(huma.Context) {
	return func(c huma.Context) {
		c.SetHeader("Content-Type", "application/json")
		c.SetStatus(status)
		_ = g.api.Marshal(c.BodyWriter(), "application/json", body) // who does not read it has gone
	}
}

// watched is something that goes on, as a stream looks at it. Progress may be
// asked several times a second, and is nil while there is none to tell; the report
// is asked for once, at the end.
type watched struct {
	progress func(context.Context) (progress any, ended bool, err error)
	report   func(context.Context) (any, error)
	enough   <-chan time.Time // the caller waits no longer: the report tells how far it is; nil for callers that do
	news     <-chan struct{}  // closed when it has ended, which saves the look at the progress; nil where nobody tells
}

// event is how far something is at one moment. Its id is of what it says.
type event struct {
	id    string
	data  []byte
	ended bool
}

func (w watched) event(ctx context.Context) (e event, err error) {
	p, ended, err := w.progress(ctx)
	if err != nil || p == nil {
		return event{ended: ended}, err
	}
	if e.data, err = json.Marshal(p); err != nil {
		return event{}, fmt.Errorf("encode the progress: %w", err)
	}
	sum := sha256.Sum256(e.data)
	e.id, e.ended = fmt.Sprintf("%x", sum[:8]), ended
	return e, nil
}

// whole is the last event: it carries the report, which is read this once.
func (w watched) whole(ctx context.Context, e event) (event, error) {
	r, err := w.report(ctx)
	if err != nil {
		return e, err
	}
	if e.data, err = json.Marshal(r); err != nil {
		return e, fmt.Errorf("encode the report: %w", err)
	}
	return e, nil
}

// streamed is the body of an answer that is events. Seen is the id of the last one
// that the client has; first is the event to begin with.
func (g *Gateway) streamed(doing, seen string, w watched, first event) func(huma.Context) {
	return func(c huma.Context) {
		_, to := humago.Unwrap(c)
		s := &stream{w: to, control: http.NewResponseController(to), seen: seen}
		defer s.control.SetWriteDeadline(time.Time{}) // the connection may serve another request
		err := s.open()
		if err == nil {
			err = g.follow(c.Context(), s, w, first)
		}
		if err != nil && !errors.Is(err, errGone) && c.Context().Err() == nil {
			err = s.fail(g.problemFrom(c.Context(), doing, err))
		}
		if err != nil && c.Context().Err() == nil {
			// what it tells of goes on, and the client asks again
			g.Log.Warn("a stream of events broke off", "operation", doing, "error", err)
		}
	}
}

// follow sends what is new until there is nothing more to come or the gateway
// stops.
func (g *Gateway) follow(ctx context.Context, s *stream, w watched, e event) (err error) {
	look, beat := time.NewTicker(eventsEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	for {
		if e.ended {
			if e, err = w.whole(ctx, e); err != nil {
				return err
			}
			return s.send("end", e)
		}
		if e.id != s.seen && e.id != "" {
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
		case <-w.enough:
			e.ended = true
			continue
		case <-beat.C:
			if err := s.write([]byte(": still there\n\n")); err != nil {
				return err
			}
		case <-w.news:
		case <-look.C:
		}
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

var errGone = errors.New("the client takes no more events")

func (s *stream) open() error {
	h := s.w.(http.ResponseWriter).Header()
	h.Set("Content-Type", eventText)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies would hold events back
	return s.write([]byte(": hello\n\n"))
}

func (s *stream) send(name string, e event) error {
	id := ""
	if e.id != "" {
		s.seen, id = e.id, "id: "+e.id+"\n"
	}
	return s.write(fmt.Appendf(nil, "%sevent: %s\ndata: %s\n\n", id, name, bytes.TrimSpace(e.data)))
}

// fail tells the client why there is nothing more to come.
func (s *stream) fail(p *Problem) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the problem: %w", err)
	}
	return s.send("error", event{data: data})
}

func (s *stream) write(p []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a connection without deadlines waits for ever
	_, err := s.w.Write(p)
	if err == nil {
		err = s.control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
