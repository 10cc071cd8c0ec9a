package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/service/apikey"
	"cairn/internal/service/feedback"
)

// FeedbackRequest is what somebody says of an answer.
type FeedbackRequest struct {
	Rating       string `json:"rating,omitempty" enum:"good,bad" doc:"Of the answer; a correction makes it bad"`
	Correction   string `json:"correction,omitempty" maxLength:"4000" doc:"What would have been right"`
	Conversation string `json:"conversation,omitempty" maxLength:"200" doc:"With message_id: the turn that is rated"`
	MessageID    string `json:"message_id,omitempty" maxLength:"200"`
	Question     string `json:"question,omitempty" maxLength:"2000" doc:"Without a turn: what was asked"`
	Answer       string `json:"answer,omitempty" maxLength:"4000" doc:"Without a turn: what was answered"`
	Bank         string `json:"bank,omitempty" maxLength:"64" doc:"The bank of memory skills that is to learn from it; the default one unless said otherwise"`
}

// FeedbackResult is what it led to.
type FeedbackResult struct {
	Question string `json:"question"`
	Case     int64  `json:"case,omitempty" doc:"The hard case that a bad answer has become"`
	Failures int    `json:"failures,omitempty" doc:"How often the question was answered badly"`
}

func (g *Gateway) feedbackRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/feedback", id: "giveFeedback", tag: tagMemory,
		scope: apikey.Write, bytes: smallBody,
		summary: "Say whether an answer was good, and what would have been right",
		about: "A bad answer becomes a hard case, from which the bank of memory skills evolves; a good one halves " +
			"the failures of its question. Of a turn both count for the memory skills behind what it was shown."},
		g.giveFeedback)
}

func (g *Gateway) giveFeedback(ctx context.Context, in *struct {
	IdempotencyKey
	Body FeedbackRequest
}) (*bodyOf[FeedbackResult], error) {
	who := person(ctx, in.IdempotencyKey)
	noted, err := g.Feedback.Note(ctx, who.Workspace, who.Op, feedback.Input(in.Body))
	out := &bodyOf[FeedbackResult]{FeedbackResult{Question: noted.Question}}
	if noted.Case != nil {
		out.Body.Case, out.Body.Failures = noted.Case.ID, noted.Case.Failures
	}
	return out, err
}
