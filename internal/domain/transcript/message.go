// Package transcript is what was said: messages, conversations, and how the
// formats that users already have become them.
//
//	conversations, err := transcript.Parse("chat.json", file, 0)
//
// reads OpenAI chat messages, τ-bench trajectories, JSON lines and plain
// `name: text` lines, and says where a bad input is bad. What follows needs no
// input or output: Gate decides whether a conversation is worth distilling,
// Material shows it to a model, DecodeTasks reads how the model cut it up.
package transcript

import "time"

// Role is who wrote a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
	System    Role = "system"
)

// Message is one entry of a transcript. Seq numbers a conversation's messages
// from 0 without gaps; everything that is remembered points back to it.
type Message struct {
	// the channel's own id, unique in its conversation; never derived from the text
	ID         string     `json:"id,omitempty"`
	Seq        int        `json:"seq"`
	Role       Role       `json:"role"`
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"` // the tool of a tool message, or the speaker
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"` // the call that a tool message answers
	Time       time.Time  `json:"ts,omitzero"`            // when it was said, zero when unknown
}

// ToolCall is a call that an assistant message asks for.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text as the model wrote it, which may be invalid
}

// Conversation is one transcript as it was handed in.
type Conversation struct {
	ID       string    `json:"id"`               // stable for the same bytes at the same place in the same input
	Title    string    `json:"title,omitempty"`  // for people: file name, position, task id
	Reward   *float64  `json:"reward,omitempty"` // τ-bench's outcome, 0 or 1, nil when unknown
	Messages []Message `json:"messages"`
}
