package contract

import "time"

// Workflows of what is done again and again.
const (
	Sweep  = "Sweep"  // the heartbeat: pages through what is due and starts it
	Curate = "Curate" // looks after the skills of a workspace that nobody uses
)

// Activities of these workflows.
const (
	SweepPage    = "SweepPage"    // SweepPageInput → SweepCounts
	CurateSkills = "CurateSkills" // CurateInput → CurateResult
)

// SweepSchedule is the id of the one Temporal Schedule that starts Sweep.
const SweepSchedule = "sweep"

// SweepInput starts Sweep. What is so far is carried through continue-as-new.
type SweepInput struct {
	Pages    int          `json:"pages,omitempty"` // of one run, before it continues as new; 0 means 20
	Rows     int          `json:"rows,omitempty"`  // of one page; 0 leaves it to the activity
	Timeouts StepTimeouts `json:"timeouts"`
	Runs     int          `json:"runs,omitempty"` // that have continued as new
	SoFar    SweepCounts  `json:"so_far"`
}

// SweepPageInput claims a page. An attempt that is repeated has the same claim,
// and gets the same page.
type SweepPageInput struct {
	Claim     string        `json:"claim"`
	Rows      int           `json:"rows,omitempty"`
	Heartbeat time.Duration `json:"heartbeat"`
}

// SweepCounts are what a page, or a sweep, came to.
type SweepCounts struct {
	Looked  int  `json:"looked"`         // tasks that were due
	Started int  `json:"started"`        // workflows and turns
	Empty   int  `json:"empty"`          // with nothing to do
	Skipped int  `json:"skipped"`        // too late, or done before
	More    bool `json:"more,omitempty"` // others are due
}

// CurateInput starts Curate.
type CurateInput struct {
	Workspace    int64        `json:"workspace"`
	WorkspaceKey string       `json:"workspace_key"`
	Timeouts     StepTimeouts `json:"timeouts"`
}

// CurateResult is what was done to skills.
type CurateResult struct {
	Staled   int `json:"staled"`
	Archived int `json:"archived"`
	Restored int `json:"restored"`
	Similar  int `json:"similar"` // pairs that say nearly the same
}

// CurateID is the workflow id of a curation; slot names the firing.
func CurateID(workspaceKey, slot string) string {
	return "curate/" + workspaceKey + "/" + VisibleKey(slot)
}
