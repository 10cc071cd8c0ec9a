package console

import (
	"cairn/internal/domain/access"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/inspect"
)

func (c *Console) conversationRoutes() {
	c.handle("GET conversations", access.Read, c.listConversations)
	c.handle("GET conversations/{conversation}", access.Read, c.showConversation)
	c.handle("POST conversations/{conversation}/end", access.Write, c.endConversation)
	c.handle("POST conversations/{conversation}/cancel", access.Write, c.cancelTurn)
	c.handle("GET conversations/{conversation}/erase", access.Admin, c.planErasure)
	c.handle("POST conversations/{conversation}/erase", access.Admin, c.eraseConversation)
}

// channels are the kinds of channels of conversations.
var channels = []string{"chat", "voice", "sms", "scheduled", "import"}

func (c *Console) listConversations(rq *request) error {
	channel, err := rq.choice("channel", channels...)
	if err != nil {
		return err
	}
	f := readmodel.ConversationFilter{Query: clipText(rq.text("q"), 200), Channel: channel}
	limit, err := rq.limit()
	if err != nil {
		return err
	}
	all, next, err := c.Explore.Conversations(rq.ctx, rq.ws(), f, rq.text("cursor"), limit)
	if err != nil {
		return err
	}
	return rq.render("conversations", "conversations.title", struct {
		Conversations []conversation.View
		Next          string
		Channels      []string
	}{all, next, channels})
}

// shownMessage is a message with the turn that it ends, if it is the last one of its turn.
type shownMessage struct {
	conversation.Line
	Turn *readmodel.Turn
	Text string // the content, shortened if it is long
	Cut  int    // bytes that are not shown

	Rating *rating // of the turn, nil if it has no reply
}

type conversationPage struct {
	Conversation inspect.ConversationDetail
	Messages     []shownMessage
	From, Next   int  // positions of the first message of this page and of the next page, -1 without one
	Open         bool // a turn is not answered yet
}

const (
	messagesShown = 50
	// longest is the size of a message that a page shows as a whole, in bytes.
	longest = 16 << 10
)

func (c *Console) showConversation(rq *request) error {
	from, err := rq.number("from", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	name := rq.named("conversation")
	out := conversationPage{From: from, Next: -1}
	if out.Conversation, err = c.Conversations.Show(rq.ctx, rq.grant.Workspace, name); err != nil {
		return err
	}
	lines, err := c.Conversations.Lines(rq.ctx, rq.ws(), name, from-1, messagesShown+1)
	if err != nil {
		return err
	}
	if len(lines) > messagesShown {
		lines, out.Next = lines[:messagesShown], lines[messagesShown].Seq
	}
	turns, err := c.turnsOf(rq, name, lines)
	if err != nil {
		return err
	}
	for i, l := range lines {
		m := shownMessage{Line: l, Text: l.Content}
		if len(m.Text) > longest {
			m.Text = transcript.Clip(m.Text, longest)
			m.Cut = len(l.Content) - len(m.Text)
		}
		if t := turns[l.Turn]; t != nil && (i == len(lines)-1 || lines[i+1].Turn != l.Turn) {
			m.Turn, m.Rating = t, rq.ratingOf(t, "conversations", name)
			out.Open = out.Open || t.Status != "ended"
		}
		out.Messages = append(out.Messages, m)
	}
	return rq.render("conversation", name, out)
}

// turnsOf returns the turns of messages by their numbers.
func (c *Console) turnsOf(rq *request, name string, lines []conversation.Line) (map[int]*readmodel.Turn, error) {
	out := map[int]*readmodel.Turn{}
	first, last := 0, 0
	for _, l := range lines {
		if l.Turn > 0 && (first == 0 || l.Turn < first) {
			first = l.Turn
		}
		last = max(last, l.Turn)
	}
	if first == 0 {
		return out, nil
	}
	turns, err := c.Explore.Turns(rq.ctx, rq.ws(), name, first, last)
	for i := range turns {
		out[turns[i].Number] = &turns[i]
	}
	return out, err
}

func (c *Console) endConversation(rq *request) error {
	name := rq.named("conversation")
	if _, err := c.Conversations.End(rq.ctx, rq.grant.Workspace, name); err != nil {
		return rq.again(err, c.showConversation)
	}
	return rq.redirect("ended", "conversations", name)
}

func (c *Console) cancelTurn(rq *request) error {
	name := rq.named("conversation")
	asked, err := c.Conversations.Cancel(rq.ctx, rq.grant.Workspace, name, rq.r.PostFormValue("message"))
	if err != nil {
		return rq.again(err, c.showConversation)
	}
	if !asked {
		return rq.redirect("unchanged", "conversations", name)
	}
	return rq.redirect("canceled", "conversations", name)
}
