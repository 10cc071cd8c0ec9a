package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"time"
)

// Chat sends a message to a conversation and returns the reply. The first message creates
// the conversation.
//
// Without [Wait], Chat returns when there is a reply or ctx ends, however long the agent
// takes. With Wait, it can return earlier; check Status in the result.
//
// Cairn stores the message before it produces the reply. If a call is interrupted, call
// Chat again with the same [RequestID] to get the reply.
func (c *Client) Chat(ctx context.Context, conversation, text string, options ...Option) (TurnAnswer, error) {
	s := c.usual.with(options)
	r := TurnRequest{Conversation: conversation, MessageID: cmp.Or(s.id, rand.Text()), Text: text}
	for {
		out, err := c.Turn(ctx, r, options...) // safe: a message gets one reply
		if err != nil || out.Status == "ended" || s.wait != nil {
			return out, err
		}
		pause := time.NewTimer(chatPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return out, ctx.Err()
		case <-pause.C:
		}
	}
}

// chatPause is the pause between two requests, each of which waits for the reply.
const chatPause = 200 * time.Millisecond

// Line is a message of a conversation.
type Line struct {
	Seq        int        `json:"seq"`        // position in the conversation, from 0
	Turn       int        `json:"turn"`       // turn of the message, from 1; 0 for a session that was sent as a whole
	ID         string     `json:"message_id"` // ID that the sender gave the message
	Role       string     `json:"role"`       // user, assistant, tool or system
	Content    string     `json:"content"`
	Name       string     `json:"name"` // name of the tool, or of the speaker
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"` // in a tool message, the ID of the tool call
	CreatedAt  time.Time  `json:"created_at"`
}

// linesPage is the number of messages in one request.
const linesPage = "500"

// History returns all messages of a conversation, the oldest first, including tool calls
// and tool results. It returns [ErrNotFound] if the conversation does not exist.
func (c *Client) History(ctx context.Context, conversation string) (out []Line, err error) {
	q := url.Values{"limit": {linesPage}}
	for {
		var page struct {
			Messages []Line `json:"messages"`
			Next     string `json:"next_cursor"`
		}
		if err := c.call(ctx, http.MethodGet, "/v1/conversations/"+url.PathEscape(conversation)+"/messages?"+q.Encode(),
			nil, &page, ""); err != nil {
			return out, err
		}
		out = append(out, page.Messages...)
		if page.Next == "" {
			return out, nil
		}
		q.Set("cursor", page.Next)
	}
}

// Revision is one version of a memory.
type Revision struct {
	Version   int            `json:"version"`
	Action    string         `json:"action"`  // such as add, replace or remove
	Content   string         `json:"content"` // content after the change
	WhenToUse string         `json:"when_to_use"`
	Metadata  map[string]any `json:"metadata"`
	Status    string         `json:"status"` // status after the change
	Origin    string         `json:"origin"` // origin of the change: user, agent, …
	CreatedAt time.Time      `json:"created_at"`
}

// Revisions returns up to 1,000 versions of a memory, the latest first. It returns
// [ErrNotFound] if the memory does not exist.
func (c *Client) Revisions(ctx context.Context, id string) ([]Revision, error) {
	var out struct {
		Revisions []Revision `json:"revisions"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/memories/"+url.PathEscape(id)+"/history?limit=1000", nil, &out, "")
	return out.Revisions, err
}
