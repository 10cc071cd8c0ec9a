package conversation

import (
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// Response is the turn of a response.
type Response struct {
	Run          run.Ref
	Conversation string
	Message      string
	Number       int
	Last         bool // no other turn follows
	Shown        json.RawMessage
	CreatedAt    time.Time
	EndedAt      *time.Time
}

// ErrNoResponse means that an ID names no response of the workspace.
func ErrNoResponse(ref run.Ref) error {
	return fault.New(fault.NotFound, fmt.Sprintf("response of %s not found", ref.Run),
		"use the ID of a response that is stored and was not deleted")
}

// SameRequest is the latest turn of equal requests.
type SameRequest struct {
	Conversation, Message string
	Run                   string
	Ended                 bool
	Failed                bool          // it has no reply of a model
	Age, EndedFor         time.Duration // since the request was accepted, and since the end of the turn
	Times                 int           // number of the request among equal ones
}

// EarlierTurn is a turn that a request may continue.
type EarlierTurn struct {
	Conversation string
	Number       int
	Run          string
	Ended        bool
	Interrupted  bool
	Reply        string
	Said         string // the user's message, only from Last
}

// TurnOutcome is what a client gets of a turn besides its text.
type TurnOutcome struct {
	Ended         bool
	Detail        string // of a failure
	Finish        string // of the last model response: stop, length or content_filter
	Calls         []transcript.ToolCall
	Input, Output int64 // tokens of all model calls
}

// NewTask is the run of a task to store.
type NewTask struct {
	Key        string
	Generation int
	SHA        [32]byte // of the request
	Spec       json.RawMessage
	WorkflowID string
}
