package conversation

import (
	"errors"
	"time"

	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// History is what a request of an OpenAI-compatible API states about its conversation. It is stored with
// the turn, so that later requests find it.
type History struct {
	Thread string   // of requests that can continue each other
	SHA    [32]byte // of the visible messages of the request
	Body   [32]byte // of the request
	Times  int      // number of the request among equal ones; if one has it already, Accept returns ErrMoved
	// Turn is the number that the turn must get, 0 for any. If the conversation has changed meanwhile,
	// Accept returns ErrMoved.
	Turn    int
	Earlier []transcript.Message // to import into a conversation without turns
	Indexed bool                 // searches find the imported messages
}

// ErrMoved means that the conversation has other turns than the caller has read, or that an equal request was
// accepted meanwhile.
var ErrMoved = errors.New("the conversation has changed")

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

// Statuses of a turn.
const (
	StatusAccepted = "accepted" // stored, without a reply yet
	StatusEnded    = "ended"
)

// TurnStatus is the status of a turn.
type TurnStatus struct {
	Conversation string `json:"conversation"`
	MessageID    string `json:"message_id"`
	Turn         int    `json:"turn"`
	Run          string `json:"run"`
	Status       string `json:"status"` // accepted or ended
	// Reason of the end: final, budget, wall_clock, interrupted, provider_error, guardrail, lost,
	// over_budget or observed.
	Reason   string `json:"reason,omitempty"`
	Reply    string `json:"reply,omitempty"`
	ReplySeq int    `json:"reply_seq"` // position of the reply in the transcript, -1 without one
}

// View is a conversation in a list.
type View struct {
	ID         int64          `json:"-"`
	Name       string         `json:"conversation"`
	Channel    string         `json:"channel"`
	Title      string         `json:"title"`
	Messages   int            `json:"messages"`
	Turns      int            `json:"turns"`
	Counters   nudge.Counters `json:"counters"`
	CreatedAt  time.Time      `json:"created_at"`
	LastTurnAt *time.Time     `json:"last_turn_at,omitempty"`
	ClosedAt   *time.Time     `json:"closed_at,omitempty"`
}

// ReviewView is a review in a list.
type ReviewView struct {
	Run       string      `json:"run"`
	Status    string      `json:"status"` // open, saved, nothing, budget or failed
	Turn      int         `json:"turn"`   // number among the counted turns
	Writes    []run.Write `json:"writes,omitempty"`
	Staged    int         `json:"staged,omitempty" doc:"Proposed changes that need approval"`
	Steps     int         `json:"steps"`
	CreatedAt time.Time   `json:"created_at"`
	EndedAt   *time.Time  `json:"ended_at,omitempty"`
}
