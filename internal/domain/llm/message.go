package llm

import (
	"encoding/json"
)

// Roles of a Message. Instructions are in Request.System.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message after the instructions.
type Message struct {
	Role string `json:"role"` // one of the Role constants
	// Prefix is a text before Content that several requests repeat byte for byte, so that endpoints can
	// read it from a cache. Only messages of users have one.
	Prefix  string     `json:"prefix,omitempty"`
	Content string     `json:"content,omitempty"`
	Calls   []ToolCall `json:"calls,omitempty"`   // calls of an assistant message
	CallID  string     `json:"call_id,omitempty"` // for a tool message: the ID of the ToolCall whose result this is
	Images  []Image    `json:"images,omitempty"`  // of a user message, after its text
}

// User returns a conversation of one user message.
func User(content string) []Message { return []Message{{Role: RoleUser, Content: content}} }

// Tool is a tool that a model may call.
type Tool struct {
	Name        string          `json:"name"` // letters, digits, _ and -, at most 64
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of its arguments, a root object; may be nil
}

// ToolChoice restricts the choice of the model among the tools: one of the constants, or the name of
// the tool that the model must call.
type ToolChoice string

const (
	ChooseAuto ToolChoice = ""
	// ChooseNone forbids calls but still lists the tools, so that the request has the same prefix
	// as earlier requests. Some models return calls anyway.
	ChooseNone ToolChoice = "none"
	// ChooseAny demands at least one call.
	ChooseAny ToolChoice = "required"
)

// ToolCall is one call in a model's reply.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as the model wrote it; may be invalid JSON
}
