package explore

import (
	"context"
	"time"

	"cairn/internal/domain/paging"
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

// Uses returns a page of the uses of a skill, the latest first.
func (s *Service) Uses(ctx context.Context, ws, skill int64, cursor string, limit int) (page []SkillUse, next string,
	err error) {
	before, id, max, err := paging.Time(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreSkillUses(ctx, ws, skill, before, id, max)
	page, next = paging.Cut(rows, limit, func(last SkillUse) string { return paging.ByTime(last.At, last.ID) })
	return page, next, err
}
