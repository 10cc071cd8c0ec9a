package client

import (
	"context"
	"net/http"
	"time"
)

// Message is an OpenAI chat message.
type Message struct {
	Role       string     `json:"role"` // user, assistant, tool or system
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"`         // name of the tool, or of the speaker
	ToolCalls  []any      `json:"tool_calls,omitempty"`   // tool calls of an assistant message, in OpenAI's format
	ToolCallID string     `json:"tool_call_id,omitempty"` // in a tool message, the ID of the tool call
	Time       *time.Time `json:"timestamp,omitempty"`    // time of the message; some methods ignore it
}

// TurnRequest is a message to reply to, or an exchange that your own agent has had.
type TurnRequest struct {
	Conversation string    `json:"conversation"`       // your ID of the conversation; the first message creates it
	MessageID    string    `json:"message_id"`         // your ID of the message; a message gets one reply
	Channel      string    `json:"channel,omitempty"`  // sets the budget: voice, sms, chat (default) or scheduled
	Text         string    `json:"text,omitempty"`     // message of the user in mode answer
	Messages     []Message `json:"messages,omitempty"` // messages of the exchange in mode observe
	Mode         string    `json:"mode,omitempty"`     // answer (default) or observe

	Attachments []Attachment `json:"attachments,omitempty"` // of Text, at most 5
}

// Attachment is an image or a voice message. Its content decides which.
type Attachment struct {
	Name string `json:"name,omitempty"` // that the model reads for an image
	Type string `json:"type,omitempty"` // MIME type, needed only for recordings in MP4 or WebM
	Data []byte `json:"data"`           // PNG, JPEG, GIF or WebP up to 10 MB, or a recording up to 25 MB
}

// TurnAnswer is the result of a turn.
type TurnAnswer struct {
	Status string `json:"status"` // ended if there is a reply
	Reply  string `json:"reply"`  // empty in mode observe
	Reason string `json:"reason"` // why the turn ended; empty until then
	Turn   int    `json:"turn"`   // number of the turn in the conversation, from 1
	Run    string `json:"run"`    // ID of the run
}

// Turn sends a message or records an exchange. A message gets one reply: a second call with
// the same MessageID returns the same result. With another text it returns [ErrOpReused].
//
// Turn waits up to 60 seconds for the reply, or as set by [Wait]. Use [Client.Chat] to wait
// without limit.
func (c *Client) Turn(ctx context.Context, r TurnRequest, options ...Option) (out TurnAnswer, err error) {
	body := struct {
		TurnRequest
		Wait *int `json:"wait,omitempty"`
	}{r, c.usual.with(options).seconds()}
	return out, c.call(ctx, http.MethodPost, "/v1/turns", body, &out, "")
}
