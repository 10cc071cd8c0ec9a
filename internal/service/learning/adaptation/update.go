package adaptation

import (
	"context"
	"time"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/service/learning/trial"
)

// States of an update on its way into force.
const (
	InShadow = "shadow"       // made, and compared without a live choice by it
	OnCanary = "canary"       // a share of the live builds is made with it
	InForce  = trial.Promoted // it is a version of the bank
	Dropped  = "dropped"      // it was worse, or nobody knows
)

// Update is a policy that has learnt from live decisions.
type Update struct {
	Number    int        `json:"update"`
	Run       int64      `json:"run"`
	Base      int        `json:"base"` // version of the bank that it began on
	State     string     `json:"state"`
	Policy    string     `json:"policy"`
	Optimiser string     `json:"-"`
	Decisions int        `json:"decisions"` // that it has learnt from
	Shadow    Shadow     `json:"shadow"`
	Canary    *Canary    `json:"canary,omitempty"`
	Note      string     `json:"note,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	CanaryAt  *time.Time `json:"canary_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// Canary is how a policy does in live builds beside the one in force, in the same
// time. Each score is what somebody said of an answer.
type Canary struct {
	Candidate  int                  `json:"candidate"` // scores of its answers
	Incumbent  int                  `json:"incumbent"`
	Comparison *designer.Comparison `json:"comparison,omitempty"` // once there are enough of both
}

// List lists the updates of a bank's policy, the latest first; one on canary
// shows how it does so far.
func (s *Service) List(ctx context.Context, ws int64, name string, most int) (out []Update, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, name)
		if err != nil {
			return err
		}
		if out, err = tx.Updates().Updates(ctx, head.ID, most); err != nil {
			return err
		}
		for i := range out {
			if out[i].State == OnCanary {
				if out[i].Canary, _, err = s.measure(ctx, tx, head.ID, out[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, err
}

// drop drops an update with its weights, unless a version has them.
func (s *Service) drop(ctx context.Context, tx Tx, bankID int64, before string, u Update) error {
	moved, err := tx.Updates().MoveUpdate(ctx, bankID, before, u)
	if err != nil || !moved {
		return err
	}
	return tx.BankContents().DropBlobs(ctx, []string{u.Policy, u.Optimiser})
}
