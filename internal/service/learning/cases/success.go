package cases

import (
	"context"

	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/decision"
)

// PositiveFeedback is a question that was answered well.
type PositiveFeedback struct {
	Op       string // of the call: it counts once
	Bank     string // empty is the default one
	Question string
	Answer   string
	Run      int64 // that answered, where it is known
}

// RecordSuccess takes failures from the case of a question that was answered well, if
// it has one, and counts for the skills behind the memories that the answer was
// given from. The same operation does so once.
func (s *Service) RecordSuccess(ctx context.Context, ws int64, p PositiveFeedback) error {
	return s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		row, found, err := tx.Banks().BankNamed(ctx, bank.OrDefault(p.Bank))
		if err != nil || !found {
			return err
		}
		return tx.Operations().Do(ctx, p.Op, []any{"answered", row.ID, Key(p.Question), p.Run}, new(struct{}),
			func() error {
				if err := tx.Cases().SucceedCase(ctx, row.ID, Key(p.Question), p.Op); err != nil {
					return err
				}
				return decision.RecordJudgement(ctx, tx, decision.Judgement{Op: p.Op, Source: decision.FromPraise,
					Run: p.Run, Score: 1, Question: p.Question, Answer: p.Answer})
			})
	})
}
