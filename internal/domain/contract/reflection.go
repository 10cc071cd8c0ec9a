package contract

import "time"

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
