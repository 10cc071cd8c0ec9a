package build

import (
	"context"

	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/decision"
)

// Decisions lists the latest live choices of a bank, the latest first.
func (s *Service) Decisions(ctx context.Context, ws int64, name string, most int) (out []decision.View, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, bank.OrDefault(name))
		if err != nil {
			return err
		}
		found, err := tx.Decisions().BankDecisions(ctx, head.ID, most)
		out = make([]decision.View, len(found))
		for i, d := range found {
			out[i] = d.View()
		}
		return err
	})
	return out, err
}
