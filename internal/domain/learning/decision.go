package learning

import (
	"time"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
)

// Decision is the choice of skills for one span, with the memories that the prompt of the span
// contains. It is stored before the model call, so that a retry uses the same choice.
type Decision struct {
	ID           string
	Run          string
	Conversation int64
	Span         int
	FromSeq      int
	ToSeq        int
	Bank         int64
	Version      int
	Canary       int // number of the update whose policy chose; 0 means the policy of the version
	Choice       Choice
	Outcome      *SpanOutcome // nil until the span is done
	CreatedAt    time.Time
}

// Choice is the data of a decision that is stored as JSON.
type Choice struct {
	policy.Decision
	Shown []string `json:"shown"` // memory IDs, in the order of their handles
}

// SpanOutcome is the result of a span.
type SpanOutcome struct {
	Outcome executor.Outcome          `json:"outcome"`
	Actions []executor.ResolvedAction `json:"actions,omitempty"`
	Note    string                    `json:"note,omitempty"`
}

// Answered reports whether the model has processed the span.
func (d Decision) Answered() bool {
	return d.Outcome != nil && d.Outcome.Outcome != executor.LLMError
}

// MemoryUse links a memory in the prompt of a run to a decision that wrote it. The decision is
// empty if no memory skill wrote the memory.
type MemoryUse struct {
	Memory   string // its id
	Decision string
	Content  string // content after that decision; the last one is the content in the prompt
}

// Outcome is the score of a reply for a decision behind its memories.
type Outcome struct {
	Decision string
	Op       string // operation ID of the judgement; has one effect per decision
	Run      string // run of the reply
	Source   string
	Score    float64 // 0 to 1
	Voter    string  // empty if the score is not a vote
}

// RecentSkills are the skills that a version added or changed.
type RecentSkills struct {
	Version  int
	Skills   []string
	Explored int // sampled choices by this version and later ones
}

// FromPraise is the source of an outcome of a good reply. Other outcomes have the source of their
// case.
const FromPraise = "praise"

// Scored is a decision with its outcomes.
type Scored struct {
	Decision
	Scores int     // number of outcomes
	Score  float64 // their mean; 0 without outcomes
}

// ConversationView is a decision as users see it.
type ConversationView struct {
	ID         string    `json:"id"`
	Run        string    `json:"run"`
	Span       int       `json:"span"`
	Version    int       `json:"bank_version"`
	Canary     int       `json:"canary,omitempty"` // number of the update whose policy chose
	Sampled    bool      `json:"sampled"`          // drawn by its probability; other choices are greedy
	Propensity float64   `json:"propensity"`
	Candidates int       `json:"candidates"`
	Chosen     []string  `json:"chosen"` // names of skills, in the order of the choice
	Tokens     int       `json:"tokens"` // of the chosen skills in the prompt
	Outcome    string    `json:"outcome,omitempty"`
	Scores     int       `json:"scores"`
	Score      *float64  `json:"score,omitempty"` // mean of the scores
	CreatedAt  time.Time `json:"created_at"`
}

// View returns the decision as users see it.
func (d Scored) View() ConversationView {
	v := ConversationView{ID: d.ID, Run: d.Run, Span: d.Span, Version: d.Version, Canary: d.Canary,
		Sampled: !d.Choice.Greedy, Propensity: d.Choice.Propensity(), Candidates: len(d.Choice.Candidates),
		Chosen: []string{}, Tokens: d.Choice.Tokens, Scores: d.Scores, CreatedAt: d.CreatedAt}
	for _, id := range d.Choice.Chosen {
		v.Chosen = append(v.Chosen, memoryskill.NameOf(id))
	}
	if d.Decision.Outcome != nil {
		v.Outcome = string(d.Decision.Outcome.Outcome)
	}
	if d.Scores > 0 {
		v.Score = &d.Score
	}
	return v
}
