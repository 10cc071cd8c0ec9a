package readmodel

import (
	"time"

	"cairn/internal/domain/skill"
)

// CuratedSkill holds the fields of a skill that the rules use. Ages are measured by the database clock.
type CuratedSkill struct {
	ID          int64
	Name        string
	Status      skill.Status
	Managed     bool
	Pinned      bool
	Scheduled   bool // named by a scheduled prompt
	Eta         float64
	Trials      int
	Unused      time.Duration // time since its last use, or since its version was written
	Unchanged   time.Duration // time since its state or pin was changed
	Description string
	BodySHA     string
}

// Insights reports the usage and cost of skills and runs.
type Insights struct {
	Days   int          `json:"days"`
	Skills []SkillUsage `json:"skills" doc:"Ordered by uses, descending"`
	Runs   []KindUsage  `json:"runs" doc:"By kind of run, ordered by cost, descending"`
	Saves  []DayCount   `json:"saves" doc:"Skill versions by day and writer, latest day first"`
}

// SkillUsage is the usage of one skill. Its cost is the cost of the runs that wrote its versions.
// The cost of a run that wrote several skills is divided among them.
type SkillUsage struct {
	Name        string       `json:"name"`
	Status      skill.Status `json:"status"`
	Origin      string       `json:"origin"`
	Managed     bool         `json:"managed,omitempty"`
	Pinned      bool         `json:"pinned,omitempty"`
	Version     int          `json:"version"`
	Uses        int          `json:"uses" doc:"Uses within the requested days"`
	Passes      int          `json:"passes"`
	Fails       int          `json:"fails"`
	Ever        int64        `json:"uses_ever"`
	Reliability float64      `json:"reliability" doc:"0 to 1"`
	LastUsed    *time.Time   `json:"last_used_at,omitempty"`
	Created     time.Time    `json:"created_at"`
	Tokens      int64        `json:"tokens"`
	Micros      int64        `json:"cost_micros" doc:"Micro-dollars, of calls with a known price"`
}

// KindUsage is the usage of one kind of run.
type KindUsage struct {
	Kind     string `json:"kind"`
	Runs     int    `json:"runs"`
	Calls    int    `json:"calls" doc:"Model calls"`
	Tokens   int64  `json:"tokens"`
	Micros   int64  `json:"cost_micros" doc:"Micro-dollars, of calls with a known price"`
	Unpriced int    `json:"unpriced_calls" doc:"Calls of models without a known price"`
}

// DayCount is the number of skill versions that one writer saved on a day.
type DayCount struct {
	Day      string `json:"day" doc:"Local date"`
	Origin   string `json:"origin"`
	Versions int    `json:"versions"`
	Made     int    `json:"made" doc:"New skills among these versions"`
}

// Used returns the skills used within the requested days, ordered by uses, descending.
func (i Insights) Used() (out []SkillUsage) {
	for _, u := range i.Skills {
		if u.Uses > 0 {
			out = append(out, u)
		}
	}
	return out
}

// NeverUsed returns the active skills that have not been used since they were created.
func (i Insights) NeverUsed() (out []SkillUsage) {
	for _, u := range i.Skills {
		if u.Ever == 0 && (u.Status == skill.Active || u.Status == skill.Stale) {
			out = append(out, u)
		}
	}
	return out
}
