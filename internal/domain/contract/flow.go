// Package contract is the contract between those who start workflows, the workflows
// and the activities: names, task queues, ids, search attributes, and every
// input and output. It imports the standard library only, so that all sides may
// import it. Inputs grow by adding fields whose zero value means what was meant
// before; they carry ids and counts, the text is in Postgres.
package contract

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"time"
)

// Task queues. Model calls wait, packaging computes, the rest is quick.
const (
	QueueMain  = "cairn"
	QueueLLM   = "cairn-llm"
	QueueBatch = "cairn-batch"

	// QueueSandbox is served by workers that run commands of skills, where there
	// are any.
	QueueSandbox = "cairn-sandbox"
)

// TaskTimeout bounds a workflow task, which takes milliseconds: a task that a
// killed worker held goes to another after it.
const TaskTimeout = 3 * time.Second

// Search attributes, all of type Keyword. They are never encrypted, so the
// workspace appears by its opaque key.
const (
	AttributeWorkspace    = "CairnWorkspace"
	AttributeKind         = "CairnKind"
	AttributeChannel      = "CairnChannel"
	AttributeConversation = "CairnConversation"
)

// Attributes are the names of Cairn's search attributes.
func Attributes() []string {
	return []string{AttributeWorkspace, AttributeKind, AttributeChannel, AttributeConversation}
}

// SearchAttributes lists what a namespace must have, name to type.
func SearchAttributes() map[string]string {
	out := map[string]string{}
	for _, name := range Attributes() {
		out[name] = "Keyword"
	}
	return out
}

// Workflows.
const (
	Distill      = "Distill"
	DistillSkill = "DistillSkill"
)

// Activities.
const (
	Chunk      = "Chunk"
	Draft      = "Draft"
	WriteFiles = "WriteFiles"
	Judge      = "Judge"
	Publish    = "Publish"
	Merge      = "Merge"
	EndTask    = "EndTask"
	AwaitTask  = "AwaitTask"
	CloseRun   = "CloseRun"
)

// RunRef points to a run; WorkspaceKey is the opaque key of its workspace.
type RunRef struct {
	Workspace    int64  `json:"workspace"`
	WorkspaceKey string `json:"workspace_key"`
	Run          int64  `json:"run"`
	Attempt      int    `json:"attempt"`
}

// TaskRef points to one task of a run.
type TaskRef struct {
	RunRef
	Task     string       `json:"task"`     // its key
	Position int          `json:"position"` // from 1
	Of       int          `json:"of"`
	Timeouts StepTimeouts `json:"timeouts"`
}

// DistillInput starts Distill.
type DistillInput struct {
	RunRef
	WorkflowID string       `json:"workflow_id"` // of this workflow: its children's ids begin with it
	Timeouts   StepTimeouts `json:"timeouts"`
}

// StepTimeouts bound the activities of a run. It is pinned with the run, so that a deploy
// does not change it under a running workflow.
type StepTimeouts struct {
	Tasks     int           `json:"tasks"`     // tasks at once
	Model     time.Duration `json:"model"`     // one model activity, repairs included
	Heartbeat time.Duration `json:"heartbeat"` // a silent worker is dead after this
	Database  time.Duration `json:"database"`  // one database activity
	GiveUp    time.Duration `json:"give_up"`   // an activity with all its retries
}

// ChunkResult names the tasks that were found, in their order.
type ChunkResult struct {
	Tasks []string `json:"tasks"`
	Ended bool     `json:"ended"` // the run has ended: nothing found, or the model's answer was no use
}

// DraftResult is the plan of the files to write; the text is in the task's row.
type DraftResult struct {
	Ended   bool `json:"ended"`   // the task has ended
	Scripts int  `json:"scripts"` // how many; one call writes them all
	Docs    int  `json:"docs"`    // how many; one call each
	Judge   bool `json:"judge"`   // the draft is to be judged, too
}

// WriteInput asks for the scripts (Doc -1) or for one document of a task.
type WriteInput struct {
	TaskRef
	Doc int `json:"doc"`
}

// WriteResult tells how an optional file fared; a file that could not be written
// degrades the skill and does not fail it.
type WriteResult struct {
	Degraded bool `json:"degraded"`
}

// PublishResult is what became of a task's package. Unseen asks for a merge first:
// its model has not seen the head that is in force now. Conflict asks to package
// again on that head.
type PublishResult struct {
	Unseen   bool   `json:"unseen,omitempty"`
	Conflict bool   `json:"conflict,omitempty"`
	Outcome  string `json:"outcome"`
	Skill    int64  `json:"skill"`
	Version  int    `json:"version"`
}

// EndTaskInput ends a task that an activity could not carry through.
type EndTaskInput struct {
	TaskRef
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// TaskResult is what became of a task.
type TaskResult struct {
	Outcome string `json:"outcome"`
	Skill   int64  `json:"skill"`
	Version int    `json:"version"`
}

// CloseInput closes a run. Code is set when the workflow gave up.
type CloseInput struct {
	RunRef
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// DistillResult is Distill's result.
type DistillResult struct {
	Outcome string `json:"outcome"`
	Tasks   int    `json:"tasks"`
	Created int    `json:"created"`
	Updated int    `json:"updated"`
	Failed  int    `json:"failed"`
}

// DistillID is the workflow id of a run of kind distill. A redo or a retry has
// an id of its own, so that each can be looked at by itself and a finished one
// is never started again.
func DistillID(workspaceKey, request string, generation, attempt int) string {
	id := fmt.Sprintf("distill/%s/%s", workspaceKey, request)
	if generation > 1 {
		id += fmt.Sprintf("/redo-%d", generation)
	}
	if attempt > 1 {
		id += fmt.Sprintf("/retry-%d", attempt)
	}
	return id
}

var plainKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// VisibleKey is a caller's id as workflow ids may show it: as it is when it is a
// plain token, else its hash, for ids are never encrypted.
func VisibleKey(id string) string {
	if plainKey.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%x", sum[:10])
}
