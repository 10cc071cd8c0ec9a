package build

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/paging"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Decisions returns a page of the live choices of a bank, the latest first.
func (s *Service) Decisions(ctx context.Context, ws int64, name, cursor string,
	limit int) (out []learning.ConversationView,
	next string, err error) {
	before, id, max, err := paging.Time(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, bank.OrDefault(name))
		if err != nil {
			return err
		}
		found, err := tx.Decisions().BankDecisions(ctx, head.ID, before, id, max)
		out = make([]learning.ConversationView, len(found))
		for i, d := range found {
			out[i] = d.View()
		}
		return err
	})
	out, next = paging.Cut(
		out,
		limit,
		func(last learning.ConversationView) string { return paging.ByTime(last.CreatedAt, last.ID) },
	)
	return out, next, err
}
