package explore

import (
	"context"
	"time"
)

// SkillUse is a use of a skill, with its outcome.
type SkillUse struct {
	ID           string     `json:"use_id"`
	Version      int        `json:"version"`
	Canary       bool       `json:"canary,omitempty" doc:"The conversation saw a change that was not in force"`
	Outcome      string     `json:"outcome,omitempty" enum:"pass,fail" doc:"Absent until it is stated"`
	Run          string     `json:"run,omitempty"`
	Kind         string     `json:"kind,omitempty" doc:"Of the run"`
	Conversation string     `json:"conversation,omitempty"`
	At           time.Time  `json:"at"`
	DecidedAt    *time.Time `json:"decided_at,omitempty"`
}

// Uses returns the latest uses of a skill.
func (s *Service) Uses(ctx context.Context, ws, skill int64, max int) ([]SkillUse, error) {
	out, err := s.Store.ExploreSkillUses(ctx, ws, skill, max)
	return append([]SkillUse{}, out...), err
}
