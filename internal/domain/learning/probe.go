package learning

import "time"

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
