package contract

import (
	"fmt"
	"time"
)

// ReflectionWorkflow is the workflow that reflects on a day of a workspace.
const ReflectionWorkflow = "Reflection"

// Reasons for a reflection.
const (
	ReflectionOfSweep    = "sweep"
	ReflectionNow        = "now"
	ReflectionOfBackfill = "backfill"
)

// ReflectionInput starts Reflection.
type ReflectionInput struct {
	Workspace  string    `json:"workspace"`            // opaque key of the workspace
	Date       string    `json:"date"`                 // local date, 2006-01-02
	Zone       string    `json:"zone"`                 // IANA name
	From       time.Time `json:"from"`                 // previous watermark; zero means from the beginning
	To         time.Time `json:"to"`                   // time of the firing
	Why        string    `json:"why"`                  // sweep, now or backfill
	Generation int       `json:"generation,omitempty"` // increased by a requested repetition; 0 and 1 are the first
}

// ReflectionID returns the workflow ID of the reflection on a local date. ws is the opaque key of
// the workspace.
func ReflectionID(ws, date string) string { return "reflect/" + ws + "/" + date }

// Activities of a reflection. Its steps are the activities of any agent.
const (
	OpenReflection = "OpenReflection" // ReflectionInput → OpenReflectionResult
	DistillDay     = "DistillDay"     // RunRef → DistillDayResult
)

// OpenReflectionResult is the run of a reflection. Ended is set if there is nothing to do, or if an
// earlier attempt has ended it.
type OpenReflectionResult OpenNudgeResult

// ReflectionResult is the result of a reflection.
type ReflectionResult struct {
	Run      string `json:"run"`
	Status   string `json:"status"` // saved, nothing_to_save, empty, partial or failed
	Steps    int    `json:"steps"`
	Distills int    `json:"distills,omitempty"` // number of started distillations
}

// DistillDayResult lists the distillations for a day's conversations.
type DistillDayResult struct {
	Distills []DistillToStart `json:"distills,omitempty"`
}

// DistillToStart describes a child workflow.
type DistillToStart struct {
	WorkflowID   string       `json:"workflow_id"`
	Conversation int64        `json:"conversation"`
	Input        DistillInput `json:"input"`
}

// ReflectionNowID returns the workflow ID of a reflection that was requested before the end of its
// date.
func ReflectionNowID(workspaceKey, date string, generation int) string {
	return fmt.Sprintf("%s/now-%d", ReflectionID(workspaceKey, date), generation)
}

// ReflectionRedoID returns the workflow ID of a later generation of a date.
func ReflectionRedoID(workspaceKey, date string, generation int) string {
	return generationOf(ReflectionID(workspaceKey, date), generation)
}
