package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Conversation is a conversation without its messages.
type Conversation struct {
	ID         string     `json:"conversation"`
	Title      string     `json:"title"`
	Channel    string     `json:"channel"` // chat, voice, sms, scheduled or import
	Turns      int        `json:"turns"`
	Messages   int        `json:"messages"`
	CreatedAt  time.Time  `json:"created_at"`
	LastTurnAt *time.Time `json:"last_turn_at"` // nil before the first turn
	ClosedAt   *time.Time `json:"closed_at"`    // nil if it is open

	// Set by Client.Conversation only.
	WorkflowID string `json:"workflow_id"` // empty before the first turn
	Link       string `json:"link"`        // page of the workflow in Temporal UI; empty if it is not configured
}

// ConversationFilter selects conversations. Empty fields select all.
type ConversationFilter struct {
	Query   string // text in the ID or title
	Channel string // chat, voice, sms, scheduled or import
}

// Conversations lists conversations, the latest first. The iterator requests more of them as it needs them, and ends
// after an error.
func (c *Client) Conversations(ctx context.Context, f ConversationFilter) iter.Seq2[Conversation, error] {
	return list[Conversation](ctx, c, "/v1/conversations", "conversations", query("q", f.Query, "channel", f.Channel))
}

// Conversation returns a conversation. It returns [ErrNotFound] if the conversation does not exist.
func (c *Client) Conversation(ctx context.Context, id string) (out Conversation, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/conversations/"+url.PathEscape(id), nil, &out, "")
	return out, err
}

// TurnRecord is a turn with what it was shown and what it wrote.
type TurnRecord struct {
	Number     int          `json:"turn"` // from 1
	MessageID  string       `json:"message_id"`
	Mode       string       `json:"mode"`   // answer or observe
	Run        string       `json:"run"`    // empty if it has none
	Status     string       `json:"status"` // accepted or ended
	Reason     string       `json:"reason"` // of its end
	FirstSeq   int          `json:"first_seq"`
	ReplySeq   int          `json:"reply_seq"`  // position of the reply, -1 without one
	Memories   []TurnMemory `json:"memories"`   // that it was shown
	Skills     []TurnSkill  `json:"skills"`     // that it has read
	Remembered []TurnMemory `json:"remembered"` // that it wrote
	Calls      int64        `json:"calls"`
	Tokens     int64        `json:"tokens"`
	CostMicros *int64       `json:"cost_micros"` // micro-dollars of calls with a known price; nil if no call has one
	AcceptedAt time.Time    `json:"accepted_at"`
	EndedAt    *time.Time   `json:"ended_at"`
}

// TurnMemory is a memory that a turn was shown, or that it wrote.
type TurnMemory struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Target  string `json:"target"`
	Content string `json:"content"` // shortened
	Status  string `json:"status"`  // as it is now
	Version int    `json:"version"` // that was written
	Action  string `json:"action"`  // what the turn did
}

// TurnSkill is a skill that a turn has read.
type TurnSkill struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// TurnRecords returns up to 200 turns of a conversation in their order. From is the number of the first, from 1.
func (c *Client) TurnRecords(ctx context.Context, conversation string, from int) ([]TurnRecord, error) {
	var out struct {
		Turns []TurnRecord `json:"turns"`
	}
	path := fmt.Sprintf("/v1/conversations/%s/turns?from=%d&limit=%s", url.PathEscape(conversation), from, pageSize)
	err := c.call(ctx, http.MethodGet, path, nil, &out, "")
	return out.Turns, err
}
