package inspect

import (
	"context"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/paging"
	"cairn/internal/domain/readmodel"
)

// Conversations returns a page of conversations, the latest first.
func (s *Service) Conversations(ctx context.Context, ws int64, f readmodel.ConversationFilter, cursor string,
	limit int) (page []conversation.View, next string, err error) {
	var max int
	if f.Before, max, err = paging.Number(cursor, limit); err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreConversations(ctx, ws, f, max)
	page, next = paging.Cut(rows, limit, func(last conversation.View) string { return paging.ByNumber(last.ID) })
	return page, next, err
}

// Turns returns the turns of a conversation whose numbers are in a range, both ends included.
func (s *Service) Turns(ctx context.Context, ws int64, name string, from, to int) ([]readmodel.Turn, error) {
	out, err := s.Store.ExploreTurns(ctx, ws, name, from, to, listRunes)
	return append([]readmodel.Turn{}, out...), err
}
