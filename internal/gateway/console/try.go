package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/gateway/edge"
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
	Messages     []shownMessage
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

// maxChat is the number of messages of a chat page, without those that arrive while it is read.
const maxChat = 40

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
	after := max(about.Messages-maxChat, 0) - 1
	lines, err := c.Conversations.Lines(rq.ctx, rq.ws(), out.Conversation, after, 2*maxChat)
	if err != nil {
		return err
	}
	for _, l := range lines {
		out.Messages = append(out.Messages, shownMessage{Line: l, Text: transcript.Clip(l.Content, longest)})
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

// streamLooks is the time between two looks at a reply, in addition to notifications.
const streamLooks = 500 * time.Millisecond

// streamLimits bound the streams of open pages. The page opens a stream again that has ended early.
var streamLimits = edge.StreamLimits{PerHolder: 20, Total: 500, Life: 15 * time.Minute,
	Hint: "close pages of open runs and chats"}

// stream opens an event stream, and sends its header.
func (rq *request) stream(every time.Duration) (*edge.Stream, error) {
	s, err := rq.c.streams.Open(rq.w, rq.r, rq.holder(), every)
	if err == nil {
		_ = s.Begin() // the first event reports that the browser has gone
	}
	return s, err
}

// holder returns whose streams are counted together: those of a key, or of a browser that signed in with a link.
func (rq *request) holder() edge.Holder {
	h := edge.Holder{Kind: audit.Key, Workspace: rq.ws(), ID: rq.grant.Key}
	if h.ID == 0 {
		h.Kind, h.ID = audit.CLI, rq.grant.ID
	}
	return h
}

// streamTry sends the text of a reply as it is written: events delta and reset with text, then end.
func (c *Console) streamTry(rq *request) error {
	name, id := rq.named("conversation"), rq.named("message")
	status, err := c.Turns.Answer(rq.ctx, rq.ws(), name, id)
	if err != nil {
		return err
	}
	s, err := rq.stream(streamLooks)
	if err != nil {
		return err
	}
	defer s.Close()
	ref := run.Ref{Workspace: rq.ws(), Run: status.Run}
	news, stop := c.ReplyNews(ref)
	defer stop()
	follower := c.Replies.Follow(ref, conversation.ReplyPosition{})
	for {
		deltas, err := follower.Next(rq.ctx)
		if err != nil {
			return nil // the page reloads itself
		}
		now, err := c.Turns.Answer(rq.ctx, rq.ws(), name, id)
		if err != nil {
			return nil
		}
		if sendDeltas(s, deltas) != nil {
			return nil
		}
		if now.Status == conversation.StatusEnded {
			_ = sendText(s, "end", "")
			return nil
		}
		if s.Wait(news, nil, nil) != nil {
			return nil
		}
	}
}

func sendDeltas(s *edge.Stream, deltas []replystream.Delta) error {
	for _, d := range deltas {
		name := "delta"
		if d.Reset {
			name = "reset"
		}
		if err := sendText(s, name, d.Text); err != nil {
			return err
		}
	}
	return nil
}

func sendText(s *edge.Stream, name, text string) error {
	data, _ := json.Marshal(text) // a text always marshals
	return s.Send(edge.Event{Name: name, Data: data})
}
