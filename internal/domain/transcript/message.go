// Package transcript defines messages and conversations, and what is decided about them.
//
//	transcript.Finish(conversations) // numbers messages, sets IDs
//
// Package intake reads them from files. This package also has Gate, which decides
// whether a conversation is distilled, Material, which converts it for a model, and DecodeTasks,
// which decodes the tasks that a model found in it.
package transcript

import (
	"time"

	"cairn/internal/domain/media"
)

// Role is the author of a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
	System    Role = "system"
)

// Message is one entry of a transcript. Seq numbers a conversation's messages from 0 without gaps.
// Evidence of memories and skills refers to it.
type Message struct {
	// ID is the channel's message ID, unique in its conversation. It is never derived from the
	// text.
	ID         string     `json:"id,omitempty"`
	Seq        int        `json:"seq"`
	Role       Role       `json:"role"`
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"` // the tool of a tool message, or the speaker
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"` // the call that a tool message belongs to
	Time       time.Time  `json:"ts,omitzero"`            // zero if unknown
	Details

	// Attachments are the images and recordings of a message that is to be stored. Stored messages do not have them.
	Attachments []Attachment `json:"-"`
}

// Attachment is an image or a recording of a message: new content, or what was stored with an event of a chat platform.
type Attachment struct {
	Kind     media.Kind
	Type     string // MIME type
	Content  []byte
	Event    int64 // 0 for new content
	Position int   // in the event
}

// ToolCall is a tool call of an assistant message.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text as the model wrote it; may be invalid
}

// Conversation is one transcript of an input.
type Conversation struct {
	ID       string    `json:"id"`               // stable for equal messages at the same position in the same input
	Title    string    `json:"title,omitempty"`  // for people: file name, position, task ID
	Reward   *float64  `json:"reward,omitempty"` // result that the file states, 0 or 1 in τ-bench; nil if unknown
	Messages []Message `json:"messages"`
	// Stated is how the conversation ended as a person states it, or empty. It counts more than Reward.
	Stated Verdict `json:"-"`

	Format  string `json:"format,omitempty"`  // of the file
	Session string `json:"session,omitempty"` // the agent's ID of the session
	Parent  string `json:"parent,omitempty"`  // the session that this one continues or serves
}
