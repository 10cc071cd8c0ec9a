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
	"cairn/internal/gateway/edge"
	"cairn/internal/service/completion"
	"cairn/internal/service/replystream"
)

const lookEvery = 100 * time.Millisecond // between two looks at a turn, in addition to notifications

// streamLimits bound the streams of this API. A chat application has one key for many users.
var streamLimits = edge.StreamLimits{PerHolder: 200, Total: 2_000, Life: time.Hour,
	Hint: "close a stream, or send the request without stream"}

// open opens a stream, which has no header before its first event.
func (c *call) open() (*edge.Stream, error) {
	return c.streams.Open(c.w, c.r, edge.HolderOf(c.from), lookEvery)
}

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
func (t *turn) stream(e *edge.Stream) error {
	to := t.form.sink(t, e)
	err := t.follow(e, to)
	switch {
	case t.r.Context().Err() != nil || errors.Is(err, edge.ErrGone):
		t.abandon()
		return nil //nolint:nilerr // the client has gone
	case edge.EndsEarly(err):
		err = interrupted(err)
	}
	if err != nil && e.Begun() { // the status is sent
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

// interrupted returns the error of a stream that ends for another reason than its turn.
func interrupted(why error) *failure {
	return &failure{Status: http.StatusServiceUnavailable, Type: serverError, Code: interruptedCode,
		Message: why.Error() + ": send the request again to get the whole reply"}
}

// follow writes the reply until the turn ends.
func (t *turn) follow(e *edge.Stream, to sink) error {
	ctx := t.r.Context()
	news, stop := t.ReplyNews(t.Ref())
	defer stop()
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
		if err := e.Wait(news, nil, nil); err != nil {
			return err
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

// sendData writes an event without a name.
func sendData(to *edge.Stream, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a part of the reply: %w", err)
	}
	return to.Send(edge.Event{Data: raw})
}
