package cases

import (
	"context"

	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/decision"
)

// PositiveFeedback is a question with a good reply.
type PositiveFeedback struct {
	Op       string // operation ID of the call
	Bank     string // empty means the default bank
	Question string
	Answer   string
	Run      int64 // run of the reply; 0 if unknown
}

// RecordSuccess reduces the failures of the question's case, if it has one. It also scores the
// skills behind the memories of the reply. Calls with the same operation ID have one effect.
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
