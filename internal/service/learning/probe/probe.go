package probe

import (
	"time"

	"cairn/internal/domain/run"
)

// FromProbe is where the outcome of a decision comes from when memory has asked
// itself.
const FromProbe = "probe"

// States of a probe. Only a score teaches anything.
const (
	StateOpen     = "open"
	StateScored   = "scored"
	StateUnscored = "unscored" // what it is about is gone, or learning was frozen
	StateError    = "error"    // something that is needed did not answer
)

// Probe is a question that was made from a conversation which was remembered: its
// answer is known, so what memory finds for it has a score.
type Probe struct {
	Run          int64      `json:"run"` // that made it
	Number       int        `json:"number"`
	Conversation int64      `json:"conversation"`
	Bank         int64      `json:"-"`
	Question     string     `json:"question"`
	Answer       string     `json:"answer"`
	Evidence     []int      `json:"evidence"` // messages of the conversation that hold the answer
	Decisions    []string   `json:"-"`        // of the spans with these
	State        string     `json:"state"`
	Score        *float64   `json:"score,omitempty"` // 0–1, share of the answer's words in what was found
	Note         string     `json:"note,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
}

// Result is what a probing came to.
type Result struct {
	Outcome  run.Outcome `json:"outcome"`
	Bank     string      `json:"bank"`
	Probes   int         `json:"probes"`
	Scored   int         `json:"scored"`
	Unscored int         `json:"unscored,omitempty"`
	Errors   int         `json:"errors,omitempty"`
	Mean     float64     `json:"mean"` // of the scores
}
