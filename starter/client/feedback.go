package client

import (
	"context"
	"net/http"
)

// Ratings of an answer.
const (
	Good = "good"
	Bad  = "bad"
)

// FeedbackRequest says whether an answer was good: of a turn, by Conversation and
// MessageID, or of a Question in words.
type FeedbackRequest struct {
	Rating       string `json:"rating,omitempty"`     // Good or Bad
	Correction   string `json:"correction,omitempty"` // what would have been right; makes the rating Bad
	Conversation string `json:"conversation,omitempty"`
	MessageID    string `json:"message_id,omitempty"`
	Question     string `json:"question,omitempty"`
	Answer       string `json:"answer,omitempty"`
	// of memory skills, which is to learn from it; empty takes the default one
	Bank string `json:"bank,omitempty"`
}

// FeedbackResult is what feedback led to.
type FeedbackResult struct {
	Question string `json:"question"`
	Case     int64  `json:"case"`     // the hard case that a bad answer has become; 0 of a good one
	Failures int    `json:"failures"` // how often the question was answered badly
}

// Feedback tells Cairn how good an answer was. With the same RequestID it counts
// once.
func (c *Client) Feedback(ctx context.Context, r FeedbackRequest, options ...Option) (out FeedbackResult, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/feedback", r, &out, c.usual.with(options).once())
}
