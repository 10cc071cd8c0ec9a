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

	"cairn/internal/service/replystream"
)

const (
	eventText    = "text/event-stream"
	eventsEvery  = 250 * time.Millisecond // poll interval of a stream
	repliesEvery = 100 * time.Millisecond // poll interval of a stream with the text of a reply
	beatEvery    = 10 * time.Second       // silence after which a comment keeps the stream alive
	writeTimeout = 10 * time.Second       // for one event; a client that takes longer is disconnected
	comeBack     = 1000                   // milliseconds after which a client reconnects to a stream that ended early
)

// StreamOption lets a request choose server-sent events as its response.
type StreamOption struct {
	Stream bool `json:"stream,omitempty" doc:"Respond with server-sent events instead of one JSON body"`
}

// streamAbout describes the events in the OpenAPI document.
const streamAbout = " With stream, the response is server-sent events: `progress` carries the progress of the " +
	"agent's run whenever it changes. The last event is `end` with the body of the plain response, or `error` with " +
	"a standard error. `stopping` means that the gateway stops. A comment every ten seconds keeps the connection " +
	"alive. The run continues if the connection ends; /v1/runs/{id}/events streams its events."

// events describes a response that is a T, or events that end with a T.
func events[T any](g *Gateway) map[string]*huma.MediaType {
	all := content("application/json", schemaOf[T](g))
	all[eventText] = &huma.MediaType{Schema: &huma.Schema{
		OneOf: []*huma.Schema{schemaOf[AgentProgress](g), schemaOf[T](g), schemaOf[Problem](g)}}}
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
	enough   <-chan time.Time // the caller's wait is over: the report has the state so far; nil means no limit
	reply    *watchedReply    // the reply of a turn, which is streamed, too; nil for other operations
	news     <-chan struct{}  // closed when the operation ends, which saves polling; nil if there is no such signal
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

// streamed returns the body of a response with events. Seen is the ID of the last event
// that the client received; first is the first event to send.
func (g *Gateway) streamed(doing, seen string, w watched, first event) func(huma.Context) {
	return func(c huma.Context) {
		_, to := humago.Unwrap(c)
		ended, refused := g.streams.open(asking(c.Context()), streamsPerKey)
		if refused != nil {
			refused.write(to)
			return
		}
		defer ended()
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
			// the operation continues, and the client connects again
			g.Log.Warn("event stream interrupted", "operation", doing, "error", err)
		}
	}
}

// follow sends new events until the operation ends or the gateway stops.
func (g *Gateway) follow(ctx context.Context, s *stream, w watched, e event) (err error) {
	look, beat := time.NewTicker(eventsEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	var reply *replystream.Follower
	var text <-chan struct{}
	if w.reply != nil {
		reply = g.Replies.Follow(w.reply.ref, w.reply.seen)
		look.Reset(repliesEvery)
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
		case <-text:
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
	seen    string // ID of the last event that the client received
}

var errGone = errors.New("the client accepts no more events")

func (s *stream) open() error {
	h := s.w.(http.ResponseWriter).Header()
	h.Set("Content-Type", eventText)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering events
	return s.write([]byte(": hello\n\n"))
}

func (s *stream) send(name string, e event) error {
	id := ""
	if e.id != "" {
		s.seen, id = e.id, "id: "+e.id+"\n"
	}
	return s.write(fmt.Appendf(nil, "%sevent: %s\ndata: %s\n\n", id, name, bytes.TrimSpace(e.data)))
}

// fail sends an error as the last event.
func (s *stream) fail(p *Problem) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the problem: %w", err)
	}
	return s.send("error", event{data: data})
}

func (s *stream) write(p []byte) error {
	_ = s.control.SetWriteDeadline(
		time.Now().Add(writeTimeout),
	) // fails on connections without deadlines, which then wait without limit
	_, err := s.w.Write(p)
	if err == nil {
		err = s.control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
