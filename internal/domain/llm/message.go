package llm

import (
	"encoding/json"
)

// Roles of a Message. The instructions are Request.System.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message after the instructions.
type Message struct {
	Role    string     `json:"role"` // one of the Role constants
	Content string     `json:"content,omitempty"`
	Calls   []ToolCall `json:"calls,omitempty"`   // of an assistant: what it called
	CallID  string     `json:"call_id,omitempty"` // of a tool: the ToolCall.ID that this is the result of
}

// User makes a conversation of one message.
func User(content string) []Message { return []Message{{Role: RoleUser, Content: content}} }

// Tool is something that a model may call.
type Tool struct {
	Name        string          `json:"name"` // letters, digits, _ and -, at most 64
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of its arguments, a root object; nil for none
}

// ToolChoice is how far a model may choose among the tools.
type ToolChoice string

const (
	ChooseAuto ToolChoice = ""
	// ChooseNone forbids calls but still shows the tools, so that a request
	// begins with the same bytes as those before it. Some models call all the same.
	ChooseNone ToolChoice = "none"
)

// ToolCall is one call that a model asks for.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as the model wrote it: JSON, if all went well
}
