package run

import (
	"encoding/json"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/nudge"
)

// Result is the stored result of a run.
type Result struct {
	Reason   agent.Reason   `json:"reason"`
	Detail   string         `json:"detail,omitempty"`
	Steps    int            `json:"steps"`
	Writes   []Write        `json:"writes,omitempty"` // applied changes
	Staged   int            `json:"staged,omitempty"` // proposed changes that need approval
	ReplySeq int            `json:"reply_seq"`
	Counters nudge.Counters `json:"counters"`         // of the conversation, after a turn
	MayNudge bool           `json:"may_nudge"`        // after a turn: the daily limit allows a review
	Status   string         `json:"status,omitempty"` // of a review: saved, nothing, budget or failed
	Number   int            `json:"turn,omitempty"`

	// Fields of runs of a memory agent.
	Text   string          `json:"text,omitempty"`   // last text of the model
	Report json.RawMessage `json:"report,omitempty"` // set by Agent.Result
}

// Write is one change that a tool call made.
type Write struct {
	Tool    string `json:"tool"`
	Action  string `json:"action"`
	Name    string `json:"name,omitempty"`
	Version int    `json:"version,omitempty"`
}

// Step is one model response of a run.
type Step struct {
	N       int
	Note    string // instruction sent before the response
	Content string
	Finish  string
	Calls   []ToolCall
}

// ToolCall is one tool call of a response. Result is the text sent to the model.
type ToolCall struct {
	Step      int
	Position  int
	ID        string
	Tool      string
	Class     agent.Class
	Arguments string
	Done      bool
	Result    string
	Code      string // error code of a failed call
}

// NewRun is a run to record. If a run with its key exists, that one is returned.
type NewRun struct {
	Kind         Kind
	Key          string
	ArgsSHA      [32]byte
	Conversation int64
	Spec         json.RawMessage
	WorkflowID   string
}

// AtCairn reports whether Cairn runs the call.
func (c ToolCall) AtCairn() bool { return c.Class != agent.Client }

// AtClient reports whether the client of the API runs the call.
func (c ToolCall) AtClient() bool { return c.Class == agent.Client }

// Ran reports whether the tool was called.
func (c ToolCall) Ran() bool {
	switch agent.SkipReason(c.Code) {
	case agent.SkipBudget, agent.SkipWallClock, agent.SkipGuardrail, agent.SkipRepeated, agent.SkipInterrupted,
		agent.SkipUnknownTool, agent.SkipArguments, agent.SkipUntaken:
		return false
	}
	return c.Done
}

// Answer returns the text that the model gets for a call. Every call has one.
func (c ToolCall) Answer(unrun agent.SkipReason) string {
	if c.Done {
		return c.Result
	}
	return agent.Answers([]agent.Call{{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments}}, nil, unrun)[0].Content
}
