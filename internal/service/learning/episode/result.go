// Package episode plays a conversation whose answers are known: a bank and a policy
// remember it from nothing, and the questions about it are scored. Training learns
// from episodes, and trials compare two of them.
package episode

import (
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
)

// QuestionResult is a question after an episode.
type QuestionResult struct {
	Case       int64    `json:"case"`
	Score      float64  `json:"score"`
	Scored     bool     `json:"scored"`
	Prediction string   `json:"prediction,omitempty"`
	Retrieved  []string `json:"retrieved,omitempty"` // texts
}

// Result is what an episode came to.
type Result struct {
	Conversation int64            `json:"conversation"`
	Reward       float64          `json:"reward"`
	Known        bool             `json:"known"` // some question was scored
	Episode      policy.Episode   `json:"episode"`
	Questions    []QuestionResult `json:"asked"`
	Items        []string         `json:"items"` // what was remembered at the end
	Failed       int              `json:"failed_spans,omitempty"`
}

// effectOf is what came of the skills that were chosen for a span.
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
