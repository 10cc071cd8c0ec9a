package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cairn/internal/gateway/edge"
	"cairn/internal/service/replystream"
)

const (
	eventsEvery  = 250 * time.Millisecond // poll interval of a stream
	repliesEvery = 100 * time.Millisecond // poll interval of a stream with the text of a reply
)

// streamLimits bound the streams of this API.
var streamLimits = edge.StreamLimits{PerHolder: 20, Total: 2_000, Life: time.Hour,
	Hint: "close a stream, or poll GET /v1/runs/{id} instead of a stream"}

// StreamOption lets a request choose server-sent events as its response.
type StreamOption struct {
	Stream bool `json:"stream,omitempty" doc:"Respond with server-sent events instead of one JSON body"`
}

// streamAbout describes the events in the OpenAPI document.
const streamAbout = " With stream, the response is server-sent events: `progress` carries the progress of the " +
	"agent's run whenever it changes. The last event is `end` with the body of the plain response, or `error` with " +
	"a standard error. `stopping` ends a stream that is older than an hour, and each stream of a gateway that stops. " +
	"A comment every ten seconds keeps the connection alive. The run continues if the connection ends; " +
	"/v1/runs/{id}/events streams its events."

// events describes a response that is a T, or events that end with a T.
func events[T any](g *Gateway) map[string]*huma.MediaType {
	all := content("application/json", schemaOf[T](g))
	all[edge.EventText] = &huma.MediaType{Schema: &huma.Schema{
		OneOf: []*huma.Schema{schemaOf[AgentProgress](g), schemaOf[T](g), schemaOf[edge.Problem](g)}}}
	return all
}

// repliedOutput is a response that is one body or a stream of events.
type repliedOutput struct {
	Location string `header:"Location"`
	Body     func(huma.Context)
}

// plain returns a response with one body.
func (g *Gateway) plain(status int, body any) func(huma.Context) {
	return func(c huma.Context) {
		c.SetHeader("Content-Type", "application/json")
		c.SetStatus(status)
		_ = g.api.Marshal(
			c.BodyWriter(),
			"application/json",
			body,
		) // a write error means that the client has disconnected
	}
}

// watched is an operation that a stream follows. The stream calls progress several times
// a second; nil means no progress to report. It calls report once, at the end.
type watched struct {
	progress func(context.Context) (progress any, ended bool, err error)
	report   func(context.Context) (any, error)
	enough   <-chan struct{} // closed when the caller has waited enough; the report has the state so far; nil if never
	reply    *watchedReply   // the reply of a turn, which is streamed, too; nil for other operations
	news     <-chan struct{} // closed when the operation ends, which saves polling; nil if there is no such signal
}

// event is the state of an operation at one moment. Its ID is derived from its content.
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

// whole adds the report to the last event. It reads the report once.
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

// after returns a channel that is closed after a time.
func after(wait time.Duration) <-chan struct{} {
	over := make(chan struct{})
	time.AfterFunc(wait, func() { close(over) })
	return over
}

// streamRoom returns an error if the caller may not open another stream.
func (g *Gateway) streamRoom(ctx context.Context) error {
	return g.streams.Room(edge.HolderOf(asking(ctx)))
}

// streamed returns the body of a response with events. Seen is the ID of the last event
// that the client received; first is the first event to send.
func (g *Gateway) streamed(doing, seen string, w watched, first event) func(huma.Context) {
	return func(c huma.Context) {
		r, to := humago.Unwrap(c)
		every := eventsEvery
		if w.reply != nil {
			every = repliesEvery
		}
		opened, err := g.streams.Open(to, r, edge.HolderOf(asking(c.Context())), every)
		if err != nil {
			g.Edge.Refuse(c.Context(), doing, err).Write(to)
			return
		}
		defer opened.Close()
		s := &stream{Stream: opened, seen: seen}
		if err = s.Begin(); err == nil {
			err = g.follow(c.Context(), s, w, first)
		}
		switch {
		case edge.EndsEarly(err):
			err = s.Stopping()
		case err != nil && !errors.Is(err, edge.ErrGone) && c.Context().Err() == nil:
			err = s.fail(g.Edge.Refuse(c.Context(), doing, err))
		}
		if err != nil && c.Context().Err() == nil {
			// the operation continues, and the client connects again
			g.Log.Warn("event stream interrupted", "operation", doing, "error", err)
		}
	}
}

// follow sends new events until the operation ends or the stream has to.
func (g *Gateway) follow(ctx context.Context, s *stream, w watched, e event) (err error) {
	var reply *replystream.Follower
	var text <-chan struct{}
	if w.reply != nil {
		reply = g.Replies.Follow(w.reply.ref, w.reply.seen)
		var stop func()
		text, stop = g.ReplyNews(w.reply.ref)
		defer stop()
	}
	for {
		if reply != nil {
			deltas, err := reply.Next(ctx)
			if err != nil {
				return err
			}
			if err := s.sendDeltas(deltas); err != nil {
				return err
			}
		}
		if e.ended {
			return s.end(ctx, w, reply, e)
		}
		if e.id != s.seen && e.id != "" {
			if err := s.send("progress", e); err != nil {
				return err
			}
		}
		if err := s.Wait(text, w.news, w.enough); err != nil {
			return err
		}
		select {
		case <-w.enough:
			e.ended = true
			continue
		default:
		}
		if e, err = w.event(ctx); err != nil {
			return err
		}
	}
}

// stream writes the events of an operation.
type stream struct {
	*edge.Stream
	seen string // ID of the last event that the client received
}

// end sends what is left of a reply, and the report.
func (s *stream) end(ctx context.Context, w watched, reply *replystream.Follower, e event) (err error) {
	if reply != nil {
		if err := w.reply.finish(ctx, s, reply); err != nil {
			return err
		}
	}
	if e, err = w.whole(ctx, e); err != nil {
		return err
	}
	return s.send("end", e)
}

func (s *stream) send(name string, e event) error {
	if e.id != "" {
		s.seen = e.id
	}
	return s.Send(edge.Event{ID: e.id, Name: name, Data: e.data})
}

// fail sends an error as the last event.
func (s *stream) fail(p *edge.Problem) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the problem: %w", err)
	}
	return s.send("error", event{data: data})
}
