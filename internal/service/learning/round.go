package learning

import (
	"time"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
)

// How a round ended.
const (
	Promoted   = "promoted"   // the candidate is in force
	Rejected   = "rejected"   // it was not better
	NoChange   = "no_change"  // the designer had nothing to propose
	NoCases    = "no_cases"   // nothing had failed
	NoTraces   = "no_traces"  // nothing to compare on: no conversation has questions with known answers
	Overtaken  = "superseded" // the bank has moved on meanwhile
	RoundError = "failed"
)

// Mined is a case that a round looked at, with what was computed about it.
type Mined struct {
	Handle     string             `json:"handle"`
	Case       int64              `json:"case"`
	Cluster    int                `json:"cluster"`
	Difficulty float64            `json:"difficulty"`
	Mechanism  designer.Mechanism `json:"mechanism"`
	Question   string             `json:"question"`
	Gold       []string           `json:"gold,omitempty"`
	Prediction string             `json:"prediction,omitempty"`
	Retrieved  []string           `json:"retrieved,omitempty"` // texts
	Evidence   []string           `json:"evidence,omitempty"`  // texts
}

// Candidate is the bank that a proposal makes.
type Candidate struct {
	Members  []memoryskill.Version    `json:"members"`
	Capacity int                      `json:"capacity"`
	Fresh    []string                 `json:"fresh"`
	Changes  []memoryskill.Difference `json:"changes"`
	Evicted  []string                 `json:"evicted,omitempty"`
	Warnings []memoryskill.Warning    `json:"warnings,omitempty"`
}

// Bank puts the candidate together.
func (c Candidate) Bank() (memoryskill.Bank, error) {
	return memoryskill.NewBank(c.Capacity, c.Members...)
}

// Round is one round of the designer.
type Round struct {
	Number        int                  `json:"round"`
	Run           int64                `json:"run"`
	Base          int                  `json:"base"` // version of the bank
	Conversations []int64              `json:"-"`
	Mined         []Mined              `json:"cases"`
	Analysis      *Analysis            `json:"analysis,omitempty"`
	Proposal      *designer.Proposal   `json:"proposal,omitempty"`
	Candidate     *Candidate           `json:"candidate,omitempty"`
	Comparison    *designer.Comparison `json:"comparison,omitempty"`
	Outcomes      Outcomes             `json:"outcomes,omitzero"` // of its trials
	Outcome       string               `json:"outcome,omitempty"`
	Note          string               `json:"note,omitempty"`
	CreatedAt     time.Time            `json:"created_at,omitzero"`
	EndedAt       *time.Time           `json:"ended_at,omitempty"`
}

// Analysis is what a model makes of the cases.
type Analysis struct {
	Patterns []struct {
		Name        string   `json:"pattern_name"`
		Cases       []string `json:"affected_cases"`
		Cause       string   `json:"root_cause"`
		Explanation string   `json:"explanation"`
		Fix         string   `json:"potential_fix"`
	} `json:"failure_patterns"`
	Recommendations []struct {
		Action    string  `json:"action"`
		Target    *string `json:"target_operation"`
		Rationale string  `json:"rationale"`
		Priority  string  `json:"priority"`
	} `json:"recommendations"`
	Summary string `json:"summary"`
}
