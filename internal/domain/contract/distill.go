package contract

import (
	"fmt"
)

// Workflows of a distillation.
const (
	Distill      = "Distill"
	DistillSkill = "DistillSkill"
)

// Activities of a distillation.
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
