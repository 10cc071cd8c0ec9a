package conversation

import (
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// Line is a message of a transcript.
type Line struct {
	Seq int `json:"seq"`
	// 0 if the message was imported with a whole conversation
	Turn       int                   `json:"turn,omitempty"`
	ID         string                `json:"message_id"` // channel's ID of the message that its turn answers
	Role       transcript.Role       `json:"role"`
	Content    string                `json:"content"`
	Name       string                `json:"name,omitempty"` // tool of a result, or the speaker
	ToolCalls  []transcript.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string                `json:"tool_call_id,omitempty"`
	CreatedAt  time.Time             `json:"created_at"`
	transcript.Details
}

// Progress is the progress of a run of the agent loop. It names the tool calls but has neither
// their arguments nor their results.
type Progress struct {
	Run     string         `json:"run"`
	Kind    run.Kind       `json:"kind"`
	Status  run.Status     `json:"status"`
	Outcome run.Outcome    `json:"outcome,omitempty"`
	Attempt int            `json:"attempt"`
	Steps   int            `json:"steps"` // model responses
	Tools   []ToolProgress `json:"tool_calls"`
	Calls   int            `json:"model_calls"`
	Tokens  int64          `json:"tokens"`
}

// ToolProgress is one tool call of a run.
type ToolProgress struct {
	Step int    `json:"step"`
	Tool string `json:"tool"`
	Done bool   `json:"done"`
	Code string `json:"code,omitempty"` // error code of a failed call
}
