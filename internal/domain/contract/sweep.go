package contract

import "time"

// Workflows of scheduled work.
const (
	Sweep  = "Sweep"  // pages through due tasks and starts them
	Curate = "Curate" // archives unused skills of a workspace
)

// Activities of these workflows.
const (
	SweepPage    = "SweepPage"    // SweepPageInput → SweepCounts
	CurateSkills = "CurateSkills" // CurateInput → CurateResult
)

// SweepSchedule is the ID of the Temporal Schedule that starts Sweep.
const SweepSchedule = "sweep"

// SweepInput starts Sweep. Its counts are carried through continue-as-new.
type SweepInput struct {
	Pages    int          `json:"pages,omitempty"` // pages of one run before it continues as new; 0 means 20
	Rows     int          `json:"rows,omitempty"`  // rows of one page; 0 means the activity's default
	Timeouts StepTimeouts `json:"timeouts"`
	Runs     int          `json:"runs,omitempty"` // runs that have continued as new
	SoFar    SweepCounts  `json:"so_far"`
}

// SweepPageInput claims a page of due tasks. A repeated attempt has the same claim and gets the
// same page.
type SweepPageInput struct {
	Claim     string        `json:"claim"`
	Rows      int           `json:"rows,omitempty"`
	Heartbeat time.Duration `json:"heartbeat"`
}

// SweepCounts are the results of a page or of a sweep.
type SweepCounts struct {
	Looked  int  `json:"looked"`         // due tasks
	Started int  `json:"started"`        // started workflows and turns
	Empty   int  `json:"empty"`          // tasks with nothing to do
	Skipped int  `json:"skipped"`        // too late, or already done
	More    bool `json:"more,omitempty"` // more tasks are due
}

// CurateInput starts Curate.
type CurateInput struct {
	Workspace    int64        `json:"workspace"`
	WorkspaceKey string       `json:"workspace_key"`
	Timeouts     StepTimeouts `json:"timeouts"`
}

// CurateResult counts the changes of skills.
type CurateResult struct {
	Staled   int `json:"staled"`
	Archived int `json:"archived"`
	Restored int `json:"restored"`
	Similar  int `json:"similar"` // pairs of near-duplicates
}

// CurateID returns the workflow ID of a curation. slot identifies the firing.
func CurateID(workspaceKey, slot string) string {
	return "curate/" + workspaceKey + "/" + VisibleKey(slot)
}
