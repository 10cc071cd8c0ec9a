package bank

import (
	"cmp"
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/store"
)

// PositiveFeedback is a question with a good reply.
type PositiveFeedback struct {
	Op       string // operation ID of the call
	Bank     string // empty means the default bank
	Question string
	Answer   string
	Run      string // run of the reply; "" if unknown
	// Conversation of the reply; 0 if unknown.
	Conversation int64
	Voter        string // empty if it is not a vote
	Sender       string // who sent the vote, see Vote; empty means the voter
	Rated        string // the rated reply, see Vote; empty means the question
}

// RecordSuccess reduces the failures of the question's case, if it has one. It also scores the
// skills behind the memories of the reply. Calls with the same operation ID have one effect, and a
// later vote of a voter on a reply replaces the earlier one. It returns whether the vote counts:
// one of a burst does not.
func (s *Cases) RecordSuccess(ctx context.Context, ws int64, p PositiveFeedback) (counts bool, err error) {
	key, name := Key(p.Question), OrDefault(p.Bank)
	var done struct {
		Burst bool `json:"burst,omitempty"`
	}
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		return tx.Operations().Do(ctx, p.Op, []any{"answered", name, key, p.Run}, &done, func() error {
			v := learning.Vote{Voter: p.Voter, Sender: p.Sender, Rated: cmp.Or(p.Rated, key), Op: p.Op,
				Source: learning.FromPraise, Run: p.Run, Conversation: p.Conversation}
			err := cast(ctx, tx, &v, p.Question, p.Answer, func() error {
				row, found, err := tx.Banks().BankNamed(ctx, name)
				if err != nil || !found {
					return err
				}
				id, taken, err := tx.Cases().SucceedCase(ctx, row.ID, key, p.Op)
				v.Case, v.Failures = id, -taken
				return err
			})
			done.Burst = v.Burst
			return err
		})
	})
	return !done.Burst, err
}
