package probe

import (
	"time"

	"cairn/internal/domain/run"
)

// FromProbe is the source of an outcome that comes from a probe.
const FromProbe = "probe"

// States of a probe. Only scored probes are used for learning.
const (
	StateOpen     = "open"
	StateScored   = "scored"
	StateUnscored = "unscored" // its subject was erased, or learning is frozen
	StateError    = "error"    // a dependency failed
)

// Probe is a question about a conversation from which memories were built. Its answer is known, so
// the memories that a search finds can be scored.
type Probe struct {
	Run          string     `json:"run"` // run that made it
	Number       int        `json:"number"`
	Conversation int64      `json:"conversation"`
	Bank         int64      `json:"-"`
	Question     string     `json:"question"`
	Answer       string     `json:"answer"`
	Evidence     []int      `json:"evidence"` // messages that contain the answer
	Decisions    []string   `json:"-"`        // of the spans with the evidence
	State        string     `json:"state"`
	Score        *float64   `json:"score,omitempty"` // 0 to 1: share of the answer's words in the found memories
	Note         string     `json:"note,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
}

// Result is the result of a probing run.
type Result struct {
	Outcome  run.Outcome `json:"outcome"`
	Bank     string      `json:"bank"`
	Probes   int         `json:"probes"`
	Scored   int         `json:"scored"`
	Unscored int         `json:"unscored,omitempty"`
	Errors   int         `json:"errors,omitempty"`
	Mean     float64     `json:"mean"` // of the scores
}
