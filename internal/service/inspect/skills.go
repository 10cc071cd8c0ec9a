package inspect

import (
	"context"

	"cairn/internal/domain/paging"
	"cairn/internal/domain/readmodel"
)

// Uses returns a page of the uses of a skill, the latest first.
func (s *Service) Uses(ctx context.Context, ws, skill int64, cursor string, limit int) (page []readmodel.SkillUse,
	next string,
	err error) {
	before, id, max, err := paging.Time(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreSkillUses(ctx, ws, skill, before, id, max)
	page, next = paging.Cut(rows, limit, func(last readmodel.SkillUse) string {
		return paging.ByTime(last.At, last.ID)
	})
	return page, next, err
}
