package openaiapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cairn/internal/service/completion"
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
)

const (
	lookEvery    = 100 * time.Millisecond // besides notifications
	beatEvery    = 10 * time.Second       // silence after which a comment keeps the stream alive
	writeTimeout = 10 * time.Second       // for one event; a client that takes longer is disconnected
)

// stream writes the reply while the model writes it. The texts of the events add up to the reply of the
// plain response, or the last event is an error.
func (t *turn) stream(usage bool) error {
	e := &events{w: t.w, control: http.NewResponseController(t.w)}
	defer e.control.SetWriteDeadline(time.Time{}) // the connection may serve another request
	err := t.follow(e, usage)
	switch {
	case t.r.Context().Err() != nil || errors.Is(err, errGone):
		t.abandon()
		return nil
	case err != nil && e.opened: // the status is sent
		f := t.failureOf("stream a reply", err)
		if data, err := json.Marshal(f); err == nil {
			_ = e.write(fmt.Appendf(nil, "event: error\ndata: %s\n\n", data)) // nothing follows
		}
		return nil
	}
	return err
}

// errReplaced ends a stream whose model was asked again and gave another text.
var errReplaced = &failure{Status: http.StatusServiceUnavailable, Type: serverError, Code: "stream_interrupted",
	Message: "the model was asked again and gave another text: send the request again to get the whole reply"}

// errStopping ends the streams of a gateway that stops.
var errStopping = &failure{Status: http.StatusServiceUnavailable, Type: serverError, Code: "stream_interrupted",
	Message: "the gateway stops: send the request again to get the whole reply"}

// follow writes the reply until the turn ends.
func (t *turn) follow(e *events, usage bool) error {
	ctx := t.r.Context()
	news, stop := t.ReplyNews(t.Ref())
	defer stop()
	look, beat := time.NewTicker(lookEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	text := chunks{turn: t, events: e, follower: t.Replies.Follow(t.Ref(), replystream.Position{})}
	for {
		now, err := t.status()
		if err != nil {
			return err
		}
		if now.Status == conversation.StatusEnded {
			return text.finish(now, usage)
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
	events   *events
	follower *replystream.Follower
	step     int  // of the last text
	spoke    bool // a text was written
}

// send writes text that is new to the client.
func (c *chunks) send(deltas []replystream.Delta) error {
	for _, d := range deltas {
		text := d.Text
		switch {
		case d.Reset:
			return errReplaced
		case d.Step != c.step && c.spoke:
			text = completion.Between + strings.TrimLeft(text, " \n\t")
		}
		if text == "" {
			continue
		}
		if !c.spoke {
			if err := c.write(chatReply{Role: "assistant", Content: new("")}, nil); err != nil {
				return err
			}
		}
		c.step, c.spoke = d.Step, true
		if err := c.write(chatReply{Content: &text}, nil); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the rest of the reply, and how it ends.
func (c *chunks) finish(now conversation.TurnStatus, usage bool) error {
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
	last := chatReply{ToolCalls: callsFor(reply, true)}
	if !c.spoke {
		last.Role = "assistant"
	}
	if len(last.ToolCalls) > 0 {
		if err := c.write(last, nil); err != nil {
			return err
		}
	}
	finish := finishOf(reply)
	if err := c.write(chatReply{}, &finish); err != nil {
		return err
	}
	if usage {
		part := c.part("chat.completion.chunk")
		part.Usage = usageOf(reply)
		if err := c.events.data(part); err != nil {
			return err
		}
	}
	return c.events.write([]byte("data: [DONE]\n\n"))
}

// write writes one part with a choice.
func (c *chunks) write(delta chatReply, finish *string) error {
	part := c.part("chat.completion.chunk")
	part.Choices = append(part.Choices, chatChoice{Delta: &delta, Finish: finish})
	return c.events.data(part)
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
