package contract

import (
	"fmt"
	"time"
)

// Reembed is the workflow that gives the documents of a workspace vectors of another model:
// ReembedInput → no result. SignalReembed steers it.
const Reembed = "Reembed"

// SignalReembed carries PauseReembed or ResumeReembed.
const SignalReembed = "reembed"

// What can be done to a running re-embedding. It is canceled like any workflow.
const (
	PauseReembed  = "pause"
	ResumeReembed = "resume"
	CancelReembed = "cancel"
)

// Activities of Reembed.
const (
	ReembedBegin  = "ReembedBegin"  // ReembedInput → nothing
	ReembedBatch  = "ReembedBatch"  // ReembedBatchInput → ReembedBatchResult
	ReembedSwitch = "ReembedSwitch" // ReembedSwitchInput → ReembedSwitchResult
	ReembedMark   = "ReembedMark"   // ReembedMarkInput → nothing
)

// ReembedRef identifies a re-embedding: a workspace and the space that is built.
type ReembedRef struct {
	Workspace    int64  `json:"workspace"`
	WorkspaceKey string `json:"workspace_key"`
	Space        int16  `json:"space"`
}

// ReembedInput starts Reembed. Begun and what follows are its state when it continues as new.
type ReembedInput struct {
	ReembedRef
	Rate      int           `json:"rate,omitempty"` // documents per second, 0 for no limit
	Heartbeat time.Duration `json:"heartbeat"`
	Begun     bool          `json:"begun,omitempty"`
	Paused    bool          `json:"paused,omitempty"`
	Rounds    int           `json:"rounds,omitempty"` // passes over all documents that are complete
}

// ReembedBatchInput asks for one batch. Again begins with the first document without a vector.
type ReembedBatchInput struct {
	ReembedRef
	Rate  int  `json:"rate,omitempty"`
	Again bool `json:"again,omitempty"`
}

// ReembedBatchResult is the number of documents of a batch, 0 after the last one.
type ReembedBatchResult struct {
	Documents int `json:"documents"`
}

// ReembedSwitchInput asks to use the space.
type ReembedSwitchInput struct {
	ReembedRef
	HandOver bool `json:"hand_over,omitempty"` // leave a small rest to the outbox
}

// ReembedSwitchResult is false if documents without a vector are left.
type ReembedSwitchResult struct {
	Done bool `json:"done"`
}

// ReembedMarkInput stores the state of a re-embedding.
type ReembedMarkInput struct {
	ReembedRef
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// ReembedID returns the workflow ID of a re-embedding.
func ReembedID(workspaceKey string, space int16) string {
	return fmt.Sprintf("reembed/%d/%s", space, workspaceKey)
}
