package contract

import (
	"crypto/sha256"
	"fmt"

	"cairn/internal/domain/agent"
)

// Remember is the workflow that adds the sessions of a subject to memory, with one model call for those that wait
// together: RememberInput → no result. SignalRemember means that there is a new session.
const Remember = "Remember"

// SignalRemember carries nothing.
const SignalRemember = "remember"

// Activities of Remember.
const (
	AddSessions = "AddSessions" // RememberInput → AddSessionsResult
	CloseAdds   = "CloseAdds"   // CloseAddsInput → nothing
)

// RememberInput identifies a subject by its hash, because a subject may be a person's name.
type RememberInput struct {
	Workspace    int64        `json:"workspace"`
	WorkspaceKey string       `json:"workspace_key"`
	Subject      string       `json:"subject"`
	Timeouts     StepTimeouts `json:"timeouts"`
}

// AddSessionsResult counts the sessions that were added. More means that others wait.
type AddSessionsResult struct {
	Added int  `json:"added"`
	More  bool `json:"more,omitempty"`
}

// CloseAddsInput ends the open adds of a subject.
type CloseAddsInput struct {
	RememberInput
	Reason agent.Reason `json:"reason"`
	Code   string       `json:"code,omitempty"`
}

// SubjectOf returns the hash of a subject.
func SubjectOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%x", sum[:8])
}

// RememberPrefix begins the IDs of workflows of Remember.
const RememberPrefix = "remember/"

// RememberID returns the workflow ID of a subject.
func RememberID(workspaceKey, subject string) string {
	return fmt.Sprintf("%s%s/%s", RememberPrefix, workspaceKey, subject)
}
