package contract

import "fmt"

// Erase is the workflow that erases a workspace, one conversation or one subject.
const Erase = "Erase"

// Activities of Erase.
const (
	EraseFence   = "EraseFence"   // waits until writers in flight have ended
	EraseStop    = "EraseStop"    // stops all open workflows
	EraseDerived = "EraseDerived" // removes or detaches what was derived from a conversation
	EraseCount   = "EraseCount"   // counts objects before the first is deleted
	EraseRows    = "EraseRows"
	EraseObjects = "EraseObjects"
	EraseEnd     = "EraseEnd" // counts what is left
)

// EraseInput starts Erase.
type EraseInput struct {
	Erasure      int64        `json:"erasure"`
	Conversation int64        `json:"conversation,omitempty"` // 0 means the whole workspace or a subject
	Timeouts     StepTimeouts `json:"timeouts"`               // only Heartbeat is used
}

// EraseRef identifies an erasure.
type EraseRef struct {
	Erasure int64 `json:"erasure"`
}

// EraseResult counts what was deleted. If Ended is false, something is left.
type EraseResult struct {
	Ended     bool  `json:"ended"`
	Rows      int64 `json:"rows"`
	Objects   int   `json:"objects"`
	Workflows int   `json:"workflows"`
}

// EraseStart identifies an erasure whose workflow is started.
type EraseStart struct {
	WorkspaceKey string
	Erasure      int64
	Conversation int64 // 0 for the whole workspace or a subject
	Subject      bool
}

// WorkflowID returns the ID of the erasure's workflow.
func (s EraseStart) WorkflowID() string {
	if s.Subject {
		return fmt.Sprintf("erase/%s/subject/%d", s.WorkspaceKey, s.Erasure)
	}
	return EraseID(s.WorkspaceKey, s.Conversation)
}

// EraseID returns the workflow ID of the erasure of a conversation, or of a workspace if the
// conversation is 0.
func EraseID(workspaceKey string, conversation int64) string {
	if conversation == 0 {
		return "erase/" + workspaceKey
	}
	return fmt.Sprintf("erase/%s/%d", workspaceKey, conversation)
}
