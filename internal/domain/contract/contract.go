// Package contract is the contract between starters, workflows and activities. It defines names,
// task queues, IDs, search attributes, inputs and outputs. It imports only the standard library and
// domain packages, so that all sides can import it. A new field of an input must keep the old
// meaning when it is zero. Inputs hold IDs and counts; content is stored in Postgres.
package contract

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"time"

	"cairn/internal/domain/run"
)

// Task queues, by the load of their activities: model calls wait, packaging computes, the rest is
// fast.
const (
	QueueMain  = "cairn"
	QueueLLM   = "cairn-llm"
	QueueBatch = "cairn-batch"

	// QueueSandbox is the queue of workers that run commands of skills. A deployment may have none.
	QueueSandbox = "cairn-sandbox"
)

// TaskTimeout is the timeout of a workflow task. A task takes milliseconds. The task of a killed
// worker moves to another worker after this time.
const TaskTimeout = 3 * time.Second

// Search attributes, all of type Keyword. They are never encrypted, so they contain the opaque key
// of the workspace.
const (
	AttributeWorkspace    = "CairnWorkspace"
	AttributeKind         = "CairnKind"
	AttributeChannel      = "CairnChannel"
	AttributeConversation = "CairnConversation"
)

// Attributes returns the names of Cairn's search attributes.
func Attributes() []string {
	return []string{AttributeWorkspace, AttributeKind, AttributeChannel, AttributeConversation}
}

// SearchAttributes returns the search attributes that a namespace needs, name to type.
func SearchAttributes() map[string]string {
	out := map[string]string{}
	for _, name := range Attributes() {
		out[name] = "Keyword"
	}
	return out
}

// RunRef identifies a run. WorkspaceKey is the opaque key of its workspace.
type RunRef struct {
	Workspace    int64  `json:"workspace"`
	WorkspaceKey string `json:"workspace_key"`
	Run          string `json:"run"`
	Attempt      int    `json:"attempt"`
}

// RefOf returns the reference to the current attempt of a run.
func RefOf(workspaceKey string, r run.Run) RunRef {
	return RunRef{Workspace: r.Workspace, WorkspaceKey: workspaceKey, Run: r.Ref.Run, Attempt: r.Attempt}
}

// Ref returns the key of the run's row.
func (r RunRef) Ref() run.Ref { return run.Ref{Workspace: r.Workspace, Run: r.Run} }

// StepTimeouts are the timeouts of a run's activities. They are pinned with the run, so that a
// deployment does not change them for a running workflow.
type StepTimeouts struct {
	Tasks     int           `json:"tasks"`     // tasks that run concurrently
	Model     time.Duration `json:"model"`     // one model activity, including repairs
	Heartbeat time.Duration `json:"heartbeat"` // a worker without a heartbeat for this time is considered dead
	Database  time.Duration `json:"database"`  // one database activity
	GiveUp    time.Duration `json:"give_up"`   // one activity with all its retries
}

// CloseInput closes a run. Code is set if the workflow failed.
type CloseInput struct {
	RunRef
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

var plainKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// VisibleKey returns a caller's ID in the form for workflow IDs. A plain token is unchanged; any
// other ID is hashed, because workflow IDs are never encrypted.
func VisibleKey(id string) string {
	if plainKey.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%x", sum[:10])
}

var attemptOfID = regexp.MustCompile(`/retry-\d+$`)

// NextAttemptID returns the workflow ID of an attempt at a run, given that of an earlier one.
func NextAttemptID(id string, attempt int) string {
	return fmt.Sprintf("%s/retry-%d", attemptOfID.ReplaceAllString(id, ""), attempt)
}
