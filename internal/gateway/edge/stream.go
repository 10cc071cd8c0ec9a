package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// EventText is the media type of an event stream.
	EventText = "text/event-stream"
	// BeatEvery is the silence after which a comment keeps a stream alive. Proxies close connections that are silent
	// for longer, usually for a minute.
	BeatEvery = 10 * time.Second
	// WriteTimeout is for one write; a client that takes longer is disconnected.
	WriteTimeout = 10 * time.Second
	// comeBack is the number of milliseconds after which a client reconnects to a stream that ended early.
	comeBack = 1000
)

// Why a stream ends before its source does.
var (
	// ErrGone reports that the client accepts no more events.
	ErrGone = errors.New("the client accepts no more events")
	// ErrStopping reports that the gateway stops.
	ErrStopping = errors.New("the gateway stops")
	// ErrTooLong reports that the stream is as old as a stream may be.
	ErrTooLong = errors.New("the stream has reached its maximum duration")
)

// EndsEarly reports whether err ends a stream whose client should connect again.
func EndsEarly(err error) bool { return errors.Is(err, ErrStopping) || errors.Is(err, ErrTooLong) }

// Event is one event of a stream. Empty members are not written.
type Event struct {
	ID, Name string
	Data     []byte // on one line, such as JSON
}

// Stream writes server-sent events to one client. It sends the header with the first of them, so that an error before
// it has a status. It is for one goroutine.
type Stream struct {
	to         *Paced
	ctx        context.Context // of the request
	closing    <-chan struct{}
	look, beat *time.Ticker
	life       *time.Timer
	begun      bool
	leave      func() // makes room
}

// Close makes room for another stream. The connection may serve another request.
func (s *Stream) Close() {
	s.look.Stop()
	s.beat.Stop()
	s.life.Stop()
	s.to.Close()
	s.leave()
}

// Begun reports whether the header was sent.
func (s *Stream) Begun() bool { return s.begun }

// Begin sends the header before there is an event.
func (s *Stream) Begin() error { return s.Comment("hello") }

// Comment writes a line that clients ignore.
func (s *Stream) Comment(text string) error { return s.write(fmt.Appendf(nil, ": %s\n\n", text)) }

// Send writes an event.
func (s *Stream) Send(e Event) error {
	var out []byte
	if e.ID != "" {
		out = fmt.Appendf(out, "id: %s\n", e.ID)
	}
	if e.Name != "" {
		out = fmt.Appendf(out, "event: %s\n", e.Name)
	}
	return s.write(fmt.Appendf(out, "data: %s\n\n", e.Data))
}

// Stopping writes the event that makes a client connect again.
func (s *Stream) Stopping() error {
	return s.write(fmt.Appendf(nil, "retry: %d\nevent: stopping\ndata: {}\n\n", comeBack))
}

func (s *Stream) write(p []byte) error {
	if !s.begun {
		h := s.to.Header()
		h.Set("Content-Type", EventText)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering events
		s.begun = true
	}
	_, err := s.to.Write(p)
	if err == nil {
		err = s.to.control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	s.beat.Reset(BeatEvery)
	return nil
}

// Wait waits until there may be something to send: one of the channels has received or is closed, or it is time to
// look. It keeps the connection alive. It returns the error of the request's context, ErrGone, ErrStopping or
// ErrTooLong if the stream has to end. A nil channel never receives.
func (s *Stream) Wait(news, end, enough <-chan struct{}) error {
	for {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-s.closing:
			return ErrStopping
		case <-s.life.C:
			return ErrTooLong
		case <-s.beat.C:
			if err := s.Comment("still there"); err != nil {
				return err
			}
		case <-news:
			return nil
		case <-end:
			return nil
		case <-enough:
			return nil
		case <-s.look.C:
			return nil
		}
	}
}

// Paced is a response whose writes have deadlines, so that a client that stops reading does not hold it.
type Paced struct {
	http.ResponseWriter
	control *http.ResponseController
}

// NewPaced returns w with deadlines. Close it, because the connection may serve another request.
func NewPaced(w http.ResponseWriter) *Paced { return &Paced{w, http.NewResponseController(w)} }

// Write writes p within WriteTimeout. On connections without deadlines, such as those of tests, it waits without limit.
func (p *Paced) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(WriteTimeout))
	return p.ResponseWriter.Write(b)
}

// Close removes the deadline.
func (p *Paced) Close() { _ = p.control.SetWriteDeadline(time.Time{}) }
