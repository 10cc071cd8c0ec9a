package inspect

import (
	"context"

	"cairn/internal/domain/paging"
	"cairn/internal/domain/readmodel"
)

// Rounds returns a page of the rounds of a bank, the latest first.
func (s *Service) Rounds(ctx context.Context, ws int64, bank, cursor string, limit int) (page []readmodel.Round,
	next string,
	err error) {
	before, max, err := paging.Number(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreRounds(ctx, ws, bank, before, max)
	page, next = paging.Cut(rows, limit, func(last readmodel.Round) string { return paging.ByNumber(last.Number) })
	return page, next, err
}

// Trainings returns a page of the trainings of a bank, the latest first.
func (s *Service) Trainings(
	ctx context.Context,
	ws int64,
	bank, cursor string,
	limit int,
) (page []readmodel.Training, next string,
	err error) {
	before, id, max, err := paging.Time(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreTrainings(ctx, ws, bank, before, id, max)
	page, next = paging.Cut(rows, limit, func(last readmodel.Training) string {
		return paging.ByTime(last.CreatedAt, last.Run)
	})
	return page, next, err
}

// Cases returns a page of the hard cases of a bank, the latest first. An empty state selects all.
func (s *Service) Cases(ctx context.Context, ws int64, bank, state, cursor string, limit int) (page []readmodel.Case,
	next string,
	err error) {
	before, max, err := paging.Number(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreCases(ctx, ws, bank, state, before, listRunes, max)
	page, next = paging.Cut(rows, limit, func(last readmodel.Case) string { return paging.ByNumber(last.ID) })
	return page, next, err
}
