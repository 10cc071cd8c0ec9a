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
	Segment    = "Segment"
	Draft      = "Draft"
	WriteFiles = "WriteFiles"
	Judge      = "Judge"
	Compare    = "Compare"
	Publish    = "Publish"
	Merge      = "Merge"
	EndTask    = "EndTask"
	AwaitTask  = "AwaitTask"
	CloseRun   = "CloseRun"
)

// TaskRef identifies one task of a run.
type TaskRef struct {
	RunRef
	Task     string       `json:"task"`     // key of the task
	Position int          `json:"position"` // from 1
	Of       int          `json:"of"`
	Timeouts StepTimeouts `json:"timeouts"`
}

// DistillInput starts Distill.
type DistillInput struct {
	RunRef
	WorkflowID string       `json:"workflow_id"` // ID of this workflow, the prefix of its children's IDs
	Timeouts   StepTimeouts `json:"timeouts"`
}

// SegmentResult lists the tasks that were found, in order.
type SegmentResult struct {
	Tasks []string `json:"tasks"`
	Ended bool     `json:"ended"` // the run has ended: no task was found, or the reply was unusable
}

// DraftResult is the plan of the files to write. The text is in the task's row.
type DraftResult struct {
	Ended bool `json:"ended"` // the task has ended
	Files int  `json:"files"` // number of scripts and documents; one call writes all of them
	Judge bool `json:"judge"` // whether the draft needs a judgment
}

// WriteResult is the result of the optional files. Files that cannot be written degrade the skill
// and do not fail it.
type WriteResult struct {
	Degraded bool `json:"degraded"`
}

// PublishResult is the result of packaging and committing a task. Unseen requests a merge first, because the
// model has not seen the current head. Compare requests a comparison with the current head first. Conflict
// requests packaging again on the current head. In these cases nothing was written. The operation log stores
// the result of a commit in this form.
type PublishResult struct {
	Unseen   bool   `json:"unseen,omitempty"`
	Compare  bool   `json:"compare,omitempty"`
	Conflict bool   `json:"conflict,omitempty"`
	Outcome  string `json:"outcome"`
	Skill    int64  `json:"skill"`
	Version  int    `json:"version"`
}

// EndTaskInput ends a task whose activity failed.
type EndTaskInput struct {
	TaskRef
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// TaskResult is the result of a task.
type TaskResult struct {
	Outcome string `json:"outcome"`
	Skill   int64  `json:"skill"`
	Version int    `json:"version"`
}

// DistillResult is the result of Distill.
type DistillResult struct {
	Outcome string `json:"outcome"`
	Tasks   int    `json:"tasks"`
	Created int    `json:"created"`
	Updated int    `json:"updated"`
	Failed  int    `json:"failed"`
}

// DistillID returns the workflow ID of a distillation. A new generation or attempt has its own ID,
// so that a completed workflow is never started again.
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
