package openaiapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/service/completion"
	"cairn/internal/service/replystream"
)

const (
	lookEvery    = 100 * time.Millisecond // besides notifications
	beatEvery    = 10 * time.Second       // silence after which a comment keeps the stream alive
	writeTimeout = 10 * time.Second       // for one event; a client that takes longer is disconnected
)

// sink writes the events of a stream.
type sink interface {
	// text writes the next part of the reply's text.
	text(part string) error
	// end writes the rest of the reply.
	end(r completion.Reply) error
	// failed writes the error that ends the stream.
	failed(f *failure)
}

// stream writes the reply while the model writes it. The texts of the events add up to the reply of the
// plain response, or the last event is an error.
func (t *turn) stream() error {
	e := &events{w: t.w, control: http.NewResponseController(t.w)}
	defer e.control.SetWriteDeadline(time.Time{}) // the connection may serve another request
	to := t.form.sink(t, e)
	err := t.follow(e, to)
	switch {
	case t.r.Context().Err() != nil || errors.Is(err, errGone):
		t.abandon()
		return nil
	case err != nil && e.opened: // the status is sent
		to.failed(t.failureOf("stream a reply", err))
		return nil
	}
	return err
}

// interruptedCode is the code of a stream that ends before the reply.
const interruptedCode = "stream_interrupted"

// errReplaced ends a stream whose model was asked again and gave another text.
var errReplaced = &failure{Status: http.StatusServiceUnavailable, Type: serverError, Code: interruptedCode,
	Message: "the model was asked again and gave another text: send the request again to get the whole reply"}

// errStopping ends the streams of a gateway that stops.
var errStopping = &failure{Status: http.StatusServiceUnavailable, Type: serverError, Code: interruptedCode,
	Message: "the gateway stops: send the request again to get the whole reply"}

// follow writes the reply until the turn ends.
func (t *turn) follow(e *events, to sink) error {
	ctx := t.r.Context()
	news, stop := t.ReplyNews(t.Ref())
	defer stop()
	look, beat := time.NewTicker(lookEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	text := chunks{turn: t, to: to, follower: t.Replies.Follow(t.Ref(), conversation.ReplyPosition{})}
	for {
		now, err := t.status()
		if err != nil {
			return err
		}
		if now.Status == conversation.StatusEnded {
			return text.finish(now)
		}
		deltas, err := text.follower.Next(ctx)
		if err != nil {
			return err
		}
		if err := text.send(deltas); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.door.Closing():
			return errStopping
		case <-beat.C:
			if err := e.comment(); err != nil {
				return err
			}
		case <-news:
		case <-look.C:
		}
	}
}

// chunks writes the parts of a reply.
type chunks struct {
	*turn
	to       sink
	follower *replystream.Follower
	step     int  // of the last text
	spoke    bool // a text was written
}

// send writes text that is new to the client.
func (c *chunks) send(deltas []replystream.Delta) error {
	for i, d := range deltas {
		text := d.Text
		switch {
		case !c.form.resumes() && replaced(d, deltas[i+1:]): // the client does not get it
			continue
		case d.Reset && c.spoke && d.Step == c.step:
			return errReplaced
		case d.Step != c.step && c.spoke:
			text = completion.Between + strings.TrimLeft(text, " \n\t")
		}
		if text == "" {
			continue
		}
		c.step, c.spoke = d.Step, true
		if err := c.to.text(text); err != nil {
			return err
		}
	}
	return nil
}

// replaced reports whether a later delta is the text of another attempt at the same step.
func replaced(d replystream.Delta, later []replystream.Delta) bool {
	return slices.ContainsFunc(later, func(l replystream.Delta) bool { return l.Reset && l.Step == d.Step })
}

// finish writes the rest of the reply, and how it ends.
func (c *chunks) finish(now conversation.TurnStatus) error {
	reply, err := c.reply(now)
	if err != nil {
		return err
	}
	deltas, err := c.follower.Next(c.r.Context())
	if err == nil {
		err = c.send(deltas)
	}
	if err != nil {
		return err
	}
	if deltas, err = c.follower.Finish(c.r.Context(), now.Reply); err == nil {
		err = c.send(deltas)
	}
	if err != nil {
		return err
	}
	return c.to.end(reply)
}

// events writes server-sent events. It sends the header with the first one, so that an error before it
// has a status.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	opened  bool
}

var errGone = errors.New("the client accepts no more events")

func (e *events) data(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a part of the reply: %w", err)
	}
	return e.write(fmt.Appendf(nil, "data: %s\n\n", raw))
}

func (e *events) comment() error { return e.write([]byte(": still there\n\n")) }

func (e *events) write(p []byte) error {
	if !e.opened {
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering events
		e.opened = true
	}
	_ = e.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails on connections without deadlines
	_, err := e.w.Write(p)
	if err == nil {
		err = e.control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
