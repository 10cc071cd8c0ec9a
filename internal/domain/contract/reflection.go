package contract

import (
	"fmt"
	"time"
)

// ReflectionWorkflow is the workflow that reflects on a day of a workspace.
const ReflectionWorkflow = "Reflection"

// Why a reflection was started.
const (
	ReflectionOfSweep    = "sweep"
	ReflectionNow        = "now"
	ReflectionOfBackfill = "backfill"
)

// ReflectionInput starts Reflection.
type ReflectionInput struct {
	Workspace  string    `json:"workspace"`            // its opaque key
	Date       string    `json:"date"`                 // local, 2006-01-02
	Zone       string    `json:"zone"`                 // IANA name
	From       time.Time `json:"from"`                 // the watermark before; zero: from the beginning
	To         time.Time `json:"to"`                   // the firing's instant
	Why        string    `json:"why"`                  // sweep, now or backfill
	Generation int       `json:"generation,omitempty"` // raised by a deliberate redo; 0 and 1 are the first
}

// ReflectionID is the workflow id of the reflection on a local date. ws is the
// workspace's opaque key.
func ReflectionID(ws, date string) string { return "reflect/" + ws + "/" + date }

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
