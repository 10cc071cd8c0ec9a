package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/replystream"
)

func (c *Console) tryRoutes() {
	c.handle("GET try", access.Write, c.showTry)
	c.handle("POST try", access.Write, c.sendTry)
	c.handle("GET try/{conversation}", access.Write, c.showTry)
	c.handle("GET try/{conversation}/{message}/events", access.Write, c.streamTry)
	c.handle("POST try/{conversation}/stop", access.Write, c.stopTry)
}

type tryPage struct {
	Conversation string
	Messages     []message
	Pending      string // ID of the message that is not answered yet
	Written      string // text of the reply so far
	Last         *readmodel.Turn
	Rating       *rating // nil if there is no reply to rate
}

// showTry shows a chat. The memories of the last turn are shown next to it.
func (c *Console) showTry(rq *request) error {
	out := tryPage{Conversation: rq.named("conversation")}
	if rq.r.Method == http.MethodPost {
		out.Conversation = cmp.Or(out.Conversation, rq.r.PostFormValue("conversation"))
	}
	if out.Conversation == "" {
		out.Conversation = "console-" + strings.ToLower(newOp()[:12])
		return rq.render("try", "try.title", out)
	}
	if err := c.readTry(rq, &out); err != nil && fault.CodeOf(err) != fault.NotFound {
		return err
	}
	return rq.render("try", "try.title", out)
}

// mostChat is the number of messages of a chat page, without those that arrive while it is read.
const mostChat = 40

func (c *Console) readTry(rq *request, out *tryPage) error {
	about, err := c.Conversations.Show(rq.ctx, rq.grant.Workspace, out.Conversation)
	if err != nil {
		return err
	}
	turns, err := c.Explore.Turns(rq.ctx, rq.ws(), out.Conversation, max(about.Turns, 1), max(about.Turns, 1))
	if err != nil {
		return err
	}
	// Read after the turn: the reply of a turn that has ended is among the messages.
	after := max(about.Messages-mostChat, 0) - 1
	lines, err := c.Conversations.Lines(rq.ctx, rq.ws(), out.Conversation, after, 2*mostChat)
	if err != nil {
		return err
	}
	for _, l := range lines {
		out.Messages = append(out.Messages, message{Line: l, Text: transcript.Clip(l.Content, longest)})
	}
	if len(turns) == 0 {
		return nil
	}
	out.Last = &turns[0]
	if out.Last.Status == conversation.StatusEnded {
		out.Rating = rq.ratingOf(out.Last, "try", out.Conversation)
		return nil
	}
	out.Pending = out.Last.MessageID
	deltas, err := c.Replies.Follow(run.Ref{Workspace: rq.ws(), Run: out.Last.Run},
		conversation.ReplyPosition{}).Next(rq.ctx)
	for _, d := range deltas {
		if d.Reset {
			out.Written = ""
		}
		out.Written += d.Text
	}
	return err
}

func (c *Console) sendTry(rq *request) error {
	name, text := rq.r.PostFormValue("conversation"), strings.TrimSpace(rq.r.PostFormValue("text"))
	if text == "" {
		return rq.again(fault.New(fault.InvalidArgument, "the message is empty", "type a message"), c.showTry)
	}
	message := rq.r.PostFormValue("op")
	if message == "" || len(message) > 100 {
		message = newOp()
	}
	if err := c.Send(rq.ctx, rq.grant.Workspace, name, message, text); err != nil {
		return rq.again(err, c.showTry)
	}
	return rq.redirect("", "try", name)
}

func (c *Console) stopTry(rq *request) error {
	name := rq.named("conversation")
	asked, err := c.Conversations.Cancel(rq.ctx, rq.grant.Workspace, name, rq.r.PostFormValue("message"))
	if err != nil {
		return rq.again(err, c.showTry)
	}
	if !asked {
		return rq.redirect("unchanged", "try", name)
	}
	return rq.redirect("canceled", "try", name)
}

const (
	streamEnds  = 15 * time.Minute // the page opens it again
	streamLooks = 500 * time.Millisecond
)

// streamTry sends the text of a reply as it is written: events delta and reset with text, then end.
func (c *Console) streamTry(rq *request) error {
	name, id := rq.named("conversation"), rq.named("message")
	status, err := c.Turns.Answer(rq.ctx, rq.ws(), name, id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(rq.ctx, streamEnds)
	defer cancel()
	defer context.AfterFunc(c.Closing, cancel)()
	s := &eventWriter{w: rq.w, flush: http.NewResponseController(rq.w).Flush}
	s.begin()
	ref := run.Ref{Workspace: rq.ws(), Run: status.Run}
	news, stop := c.ReplyNews(ref)
	defer stop()
	follower := c.Replies.Follow(ref, conversation.ReplyPosition{})
	looks := time.NewTicker(streamLooks)
	defer looks.Stop()
	for {
		deltas, err := follower.Next(ctx)
		if err != nil {
			return nil // the page reloads itself
		}
		now, err := c.Turns.Answer(ctx, rq.ws(), name, id)
		if err != nil {
			return nil
		}
		if s.send(deltas) != nil {
			return nil
		}
		if now.Status == conversation.StatusEnded {
			_ = s.event("end", "")
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		case <-looks.C:
		}
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	w     http.ResponseWriter
	flush func() error
}

func (s *eventWriter) begin() {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	_ = s.flush()
}

func (s *eventWriter) send(deltas []replystream.Delta) error {
	for _, d := range deltas {
		name := "delta"
		if d.Reset {
			name = "reset"
		}
		if err := s.event(name, d.Text); err != nil {
			return err
		}
	}
	return nil
}

func (s *eventWriter) event(name, text string) error {
	data, err := json.Marshal(text)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, data); err != nil {
		return err
	}
	return s.flush()
}
