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

// RunRef points to a run; WorkspaceKey is the opaque key of its workspace.
type RunRef struct {
	Workspace    int64  `json:"workspace"`
	WorkspaceKey string `json:"workspace_key"`
	Run          int64  `json:"run"`
	Attempt      int    `json:"attempt"`
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

// CloseInput closes a run. Code is set when the workflow gave up.
type CloseInput struct {
	RunRef
	Code   string `json:"code"`
	Reason string `json:"reason"`
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
