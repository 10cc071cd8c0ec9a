package console

import (
	"net/http"
	"net/url"

	"cairn/internal/domain/access"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/service/feedback"
)

func (c *Console) ratingRoutes() {
	c.handle("POST try/{conversation}/rate", access.Write, c.rateTry)
	c.handle("POST conversations/{conversation}/rate", access.Write, c.rateTurn)
}

// rating is the form that rates the reply of a turn.
type rating struct {
	Path    string
	Message string // the message that the turn answers
	Turn    int
}

// ratingOf returns the form for a turn, nil if the turn has no reply. Page is the page that shows it.
func (rq *request) ratingOf(t *readmodel.Turn, page, conversationName string) *rating {
	if t.Status != conversation.StatusEnded || t.ReplySeq < 0 {
		return nil
	}
	path := rq.path(page, conversationName, "rate")
	if from := rq.text("from"); from != "" {
		path += "?from=" + url.QueryEscape(from) // the part of the conversation that is shown
	}
	return &rating{path, t.MessageID, t.Number}
}

// rate stores the feedback of a form.
func (c *Console) rate(rq *request) error {
	verdict, correction := rq.r.PostFormValue("verdict"), rq.r.PostFormValue("correction")
	if verdict != feedback.Good && verdict != feedback.Bad {
		return fault.New(fault.InvalidArgument, "invalid verdict", "use one of the buttons")
	}
	who := rq.actor()
	_, err := c.Feedback.Note(rq.ctx, who.Workspace, who.Op, feedback.Input{Rating: verdict, Correction: correction,
		Conversation: rq.named("conversation"), MessageID: rq.r.PostFormValue("message")})
	return err
}

func (c *Console) rateTry(rq *request) error {
	if err := c.rate(rq); err != nil {
		return rq.again(err, c.showTry)
	}
	return rq.redirect("feedback", "try", rq.named("conversation"))
}

func (c *Console) rateTurn(rq *request) error {
	if err := c.rate(rq); err != nil {
		return rq.again(err, c.showConversation)
	}
	back := url.Values{"done": {"feedback"}}
	if from := rq.text("from"); from != "" {
		back.Set("from", from)
	}
	http.Redirect(rq.w, rq.r, rq.path("conversations", rq.named("conversation"))+"?"+back.Encode(), http.StatusSeeOther)
	return nil
}
