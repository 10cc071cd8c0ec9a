package contract

import "fmt"

// Erase is the workflow that removes a workspace, or one conversation.
const Erase = "Erase"

// Activities of Erase.
const (
	EraseFence   = "EraseFence"   // writers in flight have ended
	EraseStop    = "EraseStop"    // no workflow is open
	EraseDerived = "EraseDerived" // what came of a conversation is dealt with
	EraseCount   = "EraseCount"   // objects, before the first goes
	EraseRows    = "EraseRows"
	EraseObjects = "EraseObjects"
	EraseEnd     = "EraseEnd" // what is left is counted
)

// EraseInput starts Erase.
type EraseInput struct {
	Erasure      int64        `json:"erasure"`
	Conversation int64        `json:"conversation,omitempty"` // 0 is the whole workspace
	Timeouts     StepTimeouts `json:"timeouts"`               // Heartbeat of it
}

// EraseRef points to an erasure.
type EraseRef struct {
	Erasure int64 `json:"erasure"`
}

// EraseResult is what was deleted. Unless it has ended, something was left.
type EraseResult struct {
	Ended     bool  `json:"ended"`
	Rows      int64 `json:"rows"`
	Objects   int   `json:"objects"`
	Workflows int   `json:"workflows"`
}

// EraseID is the workflow id of an erase.
func EraseID(workspaceKey string, conversation int64) string {
	if conversation == 0 {
		return "erase/" + workspaceKey
	}
	return fmt.Sprintf("erase/%s/%d", workspaceKey, conversation)
}
