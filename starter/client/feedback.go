package client

import (
	"context"
	"net/http"
)

// Ratings of a reply.
const (
	Good = "good"
	Bad  = "bad"
)

// FeedbackRequest is feedback on a reply. Set Conversation and MessageID to rate a turn, or
// Question and Answer to rate another answer.
type FeedbackRequest struct {
	Rating       string `json:"rating,omitempty"`     // Good or Bad
	Correction   string `json:"correction,omitempty"` // the correct answer; implies the rating Bad
	Conversation string `json:"conversation,omitempty"`
	MessageID    string `json:"message_id,omitempty"` // ID of the user's message, which names the turn
	Question     string `json:"question,omitempty"`
	Answer       string `json:"answer,omitempty"`
	Bank         string `json:"bank,omitempty"` // bank of memory skills that learns; empty means default
	// Voter is the caller's ID of the user who votes. Only the key of a gateway votes for others.
	Voter string `json:"voter,omitempty"`
}

// FeedbackResult is the effect of feedback.
type FeedbackResult struct {
	Question string `json:"question"` // the rated question
	Case     int64  `json:"case"`     // ID of the hard case of a bad answer; 0 for a good one
	Failures int    `json:"failures"` // how many times the question was answered badly
	Voter    string `json:"voter"`    // who voted: key/ID of the API key, or person/HASH of a user of a gateway
	Burst    bool   `json:"burst"`    // the vote does not count: the key sent more than 20 votes within a minute
}

// Feedback sends feedback on a reply. A bad rating creates a hard case, from which memory skills
// learn. A key has one vote on an answer; a later one replaces it. Calls with the same [RequestID]
// have one effect. It returns [ErrNotFound] if the turn does not exist.
func (c *Client) Feedback(ctx context.Context, r FeedbackRequest, options ...Option) (out FeedbackResult, err error) {
	return out, c.call(ctx, http.MethodPost, "/v1/feedback", r, &out, c.usual.with(options).once())
}
