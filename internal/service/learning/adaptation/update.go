package adaptation

import (
	"context"
	"time"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/paging"
	"cairn/internal/service/learning/trial"
)

// States of an update.
const (
	InShadow = "shadow"       // compared without live choices; final if EndedAt is set
	OnCanary = "canary"       // used by a share of live builds
	InForce  = trial.Promoted // part of a version of the bank
	Dropped  = "dropped"      // worse than the active policy, or undecided
)

// Update is a policy that has learned from live decisions.
type Update struct {
	Number    int        `json:"update"`
	Run       string     `json:"run"`
	Base      int        `json:"base"` // version of the bank on which it is based
	State     string     `json:"state"`
	Policy    string     `json:"policy"`
	Optimizer string     `json:"-"`
	Decisions int        `json:"decisions"` // number of decisions learned from
	Shadow    Shadow     `json:"shadow"`
	Canary    *Canary    `json:"canary,omitempty"`
	Note      string     `json:"note,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	CanaryAt  *time.Time `json:"canary_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// Canary compares a policy with the active one in live builds of the same period. Each score is a
// judgement of a reply.
type Canary struct {
	Candidate  int                  `json:"candidate"` // number of scores
	Incumbent  int                  `json:"incumbent"`
	Voters     int                  `json:"voters"`               // of the side with fewer voters
	Comparison *designer.Comparison `json:"comparison,omitempty"` // set if both sides have enough scores
}

// List returns a page of the updates of a bank's policy, the latest first. An update on canary includes
// its current comparison.
func (s *Service) List(ctx context.Context, ws int64, name, cursor string, limit int) (out []Update, next string,
	err error) {
	before, max, err := paging.Number(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, name)
		if err != nil {
			return err
		}
		if out, err = tx.Updates().Updates(ctx, head.ID, int(before), max); err != nil {
			return err
		}
		out, next = paging.Cut(out, limit, func(last Update) string { return paging.ByNumber(last.Number) })
		for i := range out {
			if out[i].State == OnCanary {
				if out[i].Canary, _, err = s.measure(ctx, tx, head.ID, out[i]); err != nil {
					return err
				}
				if waits(out[i].Canary) {
					out[i].Note = waiting(out[i].Canary)
				}
			}
		}
		return nil
	})
	return out, next, err
}

// drop ends an update, and drops its weights unless a version uses them. Moved is false if the update has
// left the state before.
func (s *Service) drop(ctx context.Context, tx Tx, bankID int64, before string, u Update) (moved bool, err error) {
	moved, err = tx.Updates().MoveUpdate(ctx, bankID, before, u)
	if err != nil || !moved {
		return false, err
	}
	return true, tx.BankContents().DropBlobs(ctx, []string{u.Policy, u.Optimizer})
}
