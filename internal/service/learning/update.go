package learning

import (
	"context"
	"time"

	"cairn/internal/domain/memoryskill/designer"
)

// States of an update on its way into force.
const (
	InShadow = "shadow"  // made, and compared without a live choice by it
	OnCanary = "canary"  // a share of the live builds is made with it
	InForce  = Promoted  // it is a version of the bank
	Dropped  = "dropped" // it was worse, or nobody knows
)

// PolicyUpdate is a policy that has learnt from live decisions.
type PolicyUpdate struct {
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

// UpdateTx is updates of policies.
type UpdateTx interface {
	// PutUpdate keeps an update in the shadow; one that the run has made is returned instead.
	PutUpdate(ctx context.Context, bank int64, u PolicyUpdate) (PolicyUpdate, error)
	// MoveUpdate brings an update to its state, with what is known then; false when
	// it was not in the state before any more.
	MoveUpdate(ctx context.Context, bank int64, before string, u PolicyUpdate) (bool, error)
	// OpenUpdate is the one in the shadow or on canary: a bank has one at most.
	OpenUpdate(ctx context.Context, bank int64) (PolicyUpdate, bool, error)
	Updates(ctx context.Context, bank int64, most int) ([]PolicyUpdate, error)
	// CanaryScores are what was said of answers since an update's canary began: of
	// those that its decisions are behind, and of those of its version's policy.
	CanaryScores(ctx context.Context, bank int64, u PolicyUpdate) (candidate, incumbent []float64, err error)
	// CanaryLate tells whether a canary has gone on for as long as one may.
	CanaryLate(ctx context.Context, u PolicyUpdate) (bool, error)
}

// Updates lists the updates of a bank's policy, the latest first; one on canary
// shows how it does so far.
func (s *Service) Updates(ctx context.Context, ws int64, name string, most int) (out []PolicyUpdate, err error) {
	err = s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		head, err := s.bank(ctx, tx, name)
		if err != nil {
			return err
		}
		if out, err = tx.Updates(ctx, head.ID, most); err != nil {
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
