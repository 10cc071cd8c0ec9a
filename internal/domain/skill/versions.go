package skill

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
)

// ToolOrigins are the writers that the hourly limits apply to. Imports and distillations have their
// own limits.
var ToolOrigins = []string{string(agent.OriginUser), string(agent.OriginAgent), string(agent.OriginNudge),
	string(agent.OriginReflection), string(agent.OriginDesigner)}

// CountedOrigins returns the writers whose versions count toward the hourly limits.
func CountedOrigins() []string { return ToolOrigins }

// CategoryCount is the number of skills in a category. The category "" counts skills without one.
type CategoryCount struct {
	Category string
	Skills   int
}

// IndexEntry is a skill for the index.
type IndexEntry struct {
	ID          int64
	Name        string
	Status      Status
	Description string
	Category    string
	Risk        []string // risks that were accepted with its version
}

// VersionInfo is a version in a history.
type VersionInfo struct {
	Number        int       `json:"version"`
	Base          int       `json:"base_version"`
	Description   string    `json:"description"`
	Category      string    `json:"category,omitempty"`
	Origin        string    `json:"origin"`
	Op            string    `json:"op"`
	ChangeSummary string    `json:"change_summary"`
	Model         string    `json:"model,omitempty"`
	Run           string    `json:"run,omitempty"`
	Degraded      []string  `json:"degraded,omitempty"`
	Violations    []string  `json:"violations,omitempty"`
	Risk          []string  `json:"risk,omitempty"`
	Quality       *Quality  `json:"quality,omitempty"`
	PackageKey    string    `json:"package_key"`
	PackageBytes  int       `json:"package_bytes"`
	CreatedAt     time.Time `json:"created_at"`
}

// Pending is a pending change.
type Pending struct {
	ID           int64   `json:"id"`
	Skill        int64   `json:"skill_id"`
	Name         string  `json:"name"`
	Base         int     `json:"base_version"`
	Version      Version `json:"version"`
	Op           string  `json:"op"`   // operation of the version, or OpArchive, OpDelete
	Gist         string  `json:"gist"` // summary in one line
	Reason       string  `json:"reason"`
	Origin       string  `json:"origin"`
	AbsorbedInto int64   `json:"absorbed_into,omitempty"` // for OpArchive and OpDelete
	// State is pending, or expired if it can no longer be approved.
	State     string    `json:"state"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// Canary is set while the change is shown in a part of the conversations, until CanaryUntil.
	Canary      bool      `json:"canary,omitempty"`
	CanaryUntil time.Time `json:"canary_until,omitzero"`
}

// Listing is the store query of a page: at most Max skills after a position.
type Listing struct {
	Statuses []Status
	Category string
	Holds    string
	After    ListPlace
	Max      int
}

// ListPlace is the position of a skill in a list. Skills without a category come first.
type ListPlace struct {
	Category string `json:"c,omitempty"`
	Name     string `json:"n"`
}

// Cursor encodes the place.
func (p ListPlace) Cursor() (string, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode the cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// Outcomes of uses.
const (
	Pass = "pass"
)

// Use is one use of a skill. ID is set by the caller; each ID counts once.
type Use struct {
	Skill   int64
	ID      string
	Version int
	Change  int64  // the canary that was shown, 0 for a version of the skill
	Outcome string // "", Pass or Fail; a later call may set or change it
	Vote    bool   // a person's opinion of the version, which is not counted as a use
}

// Writes counts changes and proposed changes of skills in the last hour.
type Writes struct{ All, Autonomous int }
