package contract

import "fmt"

// Activities of a reflection; its steps are those of any agent.
const (
	OpenReflection = "OpenReflection" // ReflectionInput → OpenReflectionResult
	DistillDay     = "DistillDay"     // RunRef → DistillDayResult
)

// OpenReflectionResult is a reflection's run. Ended is set when there is nothing to
// do, or an earlier attempt has done it.
type OpenReflectionResult OpenNudgeResult

// ReflectionResult is what a reflection came to.
type ReflectionResult struct {
	Run      int64  `json:"run"`
	Status   string `json:"status"` // saved nothing_to_save empty partial failed
	Steps    int    `json:"steps"`
	Distills int    `json:"distills,omitempty"` // distillations that were started
}

// DistillDayResult is the distillations that a day's conversations are worth.
type DistillDayResult struct {
	Distills []DistillToStart `json:"distills,omitempty"`
}

// DistillToStart is a child.
type DistillToStart struct {
	WorkflowID   string       `json:"workflow_id"`
	Conversation int64        `json:"conversation"`
	Input        DistillInput `json:"input"`
}

// ReflectionNowID is the workflow id of what somebody did not want to wait for: the
// date itself is still to come to its end.
func ReflectionNowID(workspaceKey, date string, generation int) string {
	return fmt.Sprintf("%s/now-%d", ReflectionID(workspaceKey, date), generation)
}

// ReflectionRedoID is the workflow id of a later generation of a date.
func ReflectionRedoID(workspaceKey, date string, generation int) string {
	return generationOf(ReflectionID(workspaceKey, date), generation)
}
