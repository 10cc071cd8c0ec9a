package bank

import (
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
)

// QuestionResult is the result of a question.
type QuestionResult struct {
	Case       int64    `json:"case"`
	Score      float64  `json:"score"`
	Scored     bool     `json:"scored"`
	Prediction string   `json:"prediction,omitempty"`
	Retrieved  []string `json:"retrieved,omitempty"` // contents of memories
}

// EpisodeResult is the result of an episode.
type EpisodeResult struct {
	Conversation int64            `json:"conversation"`
	Reward       float64          `json:"reward"`
	Known        bool             `json:"known"`          // at least one question was scored
	Cost         float64          `json:"cost,omitempty"` // price of the chosen skills, in units of a score
	Episode      policy.Episode   `json:"episode"`
	Questions    []QuestionResult `json:"asked"`
	Items        []string         `json:"items"` // memories at the end
	Failed       int              `json:"failed_spans,omitempty"`
}

// effectOf returns the effect of the skills that were chosen for a span.
func effectOf(chosen []memoryskill.Skill, resolved []executor.ResolvedAction) (e policy.Effect) {
	for _, s := range chosen {
		e.Selected = append(e.Selected, string(s.Action))
	}
	tried := 0
	for _, r := range resolved {
		switch r.Outcome {
		case executor.OK, executor.NoOp:
			e.Emitted = append(e.Emitted, string(r.Type))
		case executor.Duplicate, executor.Superseded:
		default:
			tried++
		}
	}
	e.Failed = tried > 0 && len(e.Emitted) == 0
	return e
}
