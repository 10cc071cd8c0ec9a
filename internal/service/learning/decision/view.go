package decision

import (
	"time"

	"cairn/internal/domain/memoryskill"
)

// Scored is a decision with its outcomes.
type Scored struct {
	Decision
	Scores int     // number of outcomes
	Score  float64 // their mean; 0 without outcomes
}

// View is a decision as users see it.
type View struct {
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
func (d Scored) View() View {
	v := View{ID: d.ID, Run: d.Run, Span: d.Span, Version: d.Version, Canary: d.Canary,
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
