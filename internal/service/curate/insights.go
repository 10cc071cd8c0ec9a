package curate

import (
	"time"

	"cairn/internal/domain/skill"
)

// Insights tell what was used, what was not, and what it cost.
type Insights struct {
	Days   int          `json:"days"`
	Skills []SkillUsage `json:"skills" doc:"The most used first"`
	Runs   []KindUsage  `json:"runs" doc:"By kind of run, the most expensive first"`
	Saves  []DayCount   `json:"saves" doc:"Versions of skills by day and writer, the latest day first"`
}

// SkillUsage is one skill's. What it cost is what the runs cost that wrote its
// versions; a run that wrote several skills is shared by them.
type SkillUsage struct {
	Name        string       `json:"name"`
	Status      skill.Status `json:"status"`
	Origin      string       `json:"origin"`
	Managed     bool         `json:"managed,omitempty"`
	Pinned      bool         `json:"pinned,omitempty"`
	Version     int          `json:"version"`
	Uses        int          `json:"uses" doc:"Within the days asked about"`
	Passes      int          `json:"passes"`
	Fails       int          `json:"fails"`
	Ever        int64        `json:"uses_ever"`
	Reliability float64      `json:"reliability" doc:"0 to 1"`
	LastUsed    *time.Time   `json:"last_used_at,omitempty"`
	Created     time.Time    `json:"created_at"`
	Tokens      int64        `json:"tokens"`
	Micros      int64        `json:"cost_micros" doc:"Micro-dollars, of calls with a known price"`
}

// KindUsage is what the runs of one kind came to.
type KindUsage struct {
	Kind     string `json:"kind"`
	Runs     int    `json:"runs"`
	Calls    int    `json:"calls" doc:"Model calls"`
	Tokens   int64  `json:"tokens"`
	Micros   int64  `json:"cost_micros" doc:"Micro-dollars, of calls with a known price"`
	Unpriced int    `json:"unpriced_calls" doc:"Calls of models without a known price"`
}

// DayCount is how many versions of skills somebody wrote on a day.
type DayCount struct {
	Day      string `json:"day" doc:"Local date"`
	Origin   string `json:"origin"`
	Versions int    `json:"versions"`
	Made     int    `json:"made" doc:"Of these, new skills"`
}

// Used are the skills that were used within the days asked about, the most used first.
func (i Insights) Used() (out []SkillUsage) {
	for _, u := range i.Skills {
		if u.Uses > 0 {
			out = append(out, u)
		}
	}
	return out
}

// NeverUsed are the skills in force that were not used since they were made.
func (i Insights) NeverUsed() (out []SkillUsage) {
	for _, u := range i.Skills {
		if u.Ever == 0 && (u.Status == skill.Active || u.Status == skill.Stale) {
			out = append(out, u)
		}
	}
	return out
}
