package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"time"
)

// Chat has one message of a conversation answered and returns the answer. Without
// Wait it stays until there is one or ctx ends, however long the agent takes; with
// Wait it may return before, as its Status says. The message is durable before
// anybody thinks about it: with the same RequestID, Chat can be called again for
// the answer after it was cut off.
func (c *Client) Chat(ctx context.Context, conversation, text string, options ...Option) (TurnAnswer, error) {
	s := c.usual.with(options)
	r := TurnRequest{Conversation: conversation, MessageID: cmp.Or(s.id, rand.Text()), Text: text}
	for {
		out, err := c.Turn(ctx, r, options...) // the same message is answered once
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

// chatPause is between two questions whether an answer is there, each of which
// waits for it as long as the gateway lets it.
const chatPause = 200 * time.Millisecond

// Line is a message of a conversation as Cairn keeps it.
type Line struct {
	Seq        int        `json:"seq"`  // its place, from 0
	Turn       int        `json:"turn"` // that it belongs to, from 1; 0 for a session that was handed in as a whole
	ID         string     `json:"message_id"`
	Role       string     `json:"role"` // user, assistant, tool or system
	Content    string     `json:"content"`
	Name       string     `json:"name"` // the tool of a result, or the speaker
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
	CreatedAt  time.Time  `json:"created_at"`
}

// linesPage is how many messages one request reads.
const linesPage = "500"

// History are all messages of a conversation in the order in which they were
// said, what its agent called and was told among them.
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

// Revision is what a memory said at a version.
type Revision struct {
	Version   int            `json:"version"`
	Action    string         `json:"action"` // add, update, remove, …
	Content   string         `json:"content"`
	WhenToUse string         `json:"when_to_use"`
	Metadata  map[string]any `json:"metadata"`
	Status    string         `json:"status"` // after it
	Origin    string         `json:"origin"` // who wrote
	CreatedAt time.Time      `json:"created_at"`
}

// Revisions are all that a memory has said, the latest first.
func (c *Client) Revisions(ctx context.Context, id string) ([]Revision, error) {
	var out struct {
		Revisions []Revision `json:"revisions"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/memories/"+url.PathEscape(id)+"/history?limit=1000", nil, &out, "")
	return out.Revisions, err
}
