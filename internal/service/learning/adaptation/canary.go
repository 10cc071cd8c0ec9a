package adaptation

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/service/learning/bank"
)

// minScores are the answers of each side that somebody has to have judged before
// a canary is: fewer say little of either.
const minScores = 20

// ChooseCanary gives a build the policy of the update that is on canary, where the build is
// of its share: a build is as a whole, and always the same. The number is 0 for the
// policy of the version.
func (s *Service) ChooseCanary(ctx context.Context, tx Tx, build string, head bank.Head) (bank.Head, int, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil || chosen.Memory.Learning.Frozen {
		return head, 0, err
	}
	u, found, err := tx.Updates().OpenUpdate(ctx, head.ID)
	if err != nil || !found || u.State != OnCanary || u.Base != head.Version.Number {
		return head, 0, err
	}
	draw := keyedrand.Key{Run: fmt.Sprintf("canary/%d", u.Number), Skill: build, Purpose: "canary"}.Stream()
	if 100*draw.Float64() >= float64(chosen.Memory.Learning.CanaryPercent) {
		return head, 0, nil
	}
	head.Policy, head.Optimiser, err = s.ports.Banks.ReadWeights(ctx, tx, u.Policy, u.Optimiser)
	head.Version.Policy = u.Policy
	return head, u.Number, err
}

// measure compares the live answers of an update with those of the policy in force.
// Worse is set when it is so sure to be worse as it would have to be not to be.
func (s *Service) measure(ctx context.Context, tx Tx, bankID int64, u Update) (out *Canary, worse bool, err error) {
	candidate, incumbent, err := tx.Updates().CanaryScores(ctx, bankID, u)
	if err != nil {
		return nil, false, err
	}
	out = &Canary{Candidate: len(candidate), Incumbent: len(incumbent)}
	if len(candidate) < minScores || len(incumbent) < minScores {
		return out, false, nil
	}
	c, err := designer.CanaryGate().CompareArms(candidate, incumbent)
	if err != nil {
		return nil, false, err
	}
	out.Comparison = &c
	other, err := designer.CanaryGate().CompareArms(incumbent, candidate)
	return out, other.Lower > 0, err
}

// judgeCanary brings the update that is on canary into force when it is not worse
// than the policy there, and drops it when it is, when nobody could tell in 30 days,
// or when the bank has moved on. A bank that has another writer is left alone.
func (s *Service) judgeCanary(ctx context.Context, tx Tx, row bank.Row) error {
	u, found, err := tx.Updates().OpenUpdate(ctx, row.ID)
	if err != nil || !found || u.State != OnCanary {
		return err
	}
	drop := func(note string) error {
		u.State, u.Note = Dropped, note
		return s.drop(ctx, tx, row.ID, OnCanary, u)
	}
	if u.Base != row.Head {
		return drop(fmt.Sprintf("the bank has moved on to version %d", row.Head))
	}
	measured, worse, err := s.measure(ctx, tx, row.ID, u)
	if err != nil {
		return err
	}
	u.Canary = measured
	switch {
	case measured.Comparison != nil && measured.Comparison.Promote:
		return s.promote(ctx, tx, row, u)
	case worse:
		return drop("live answers are worse")
	}
	late, err := tx.Updates().CanaryLate(ctx, u)
	if err != nil || !late {
		return err
	}
	return drop("in 30 days too little was said of answers to tell")
}

// promote makes a version of the bank with the policy of an update.
func (s *Service) promote(ctx context.Context, tx Tx, row bank.Row, u Update) error {
	holder := fmt.Sprintf("update/%d", u.Run)
	lease, err := s.ports.Banks.TakeLease(ctx, tx, row.Name, holder, bank.LeaseTime)
	if fault.CodeOf(err) == fault.Unavailable {
		return nil
	}
	if err != nil {
		return err
	}
	head, err := s.ports.Banks.ReadVersion(ctx, tx, row, u.Base)
	if err != nil {
		return err
	}
	policy, optimiser, err := s.ports.Banks.ReadWeights(ctx, tx, u.Policy, u.Optimiser)
	if err != nil {
		return err
	}
	u.State = InForce
	moved, err := tx.Updates().MoveUpdate(ctx, row.ID, OnCanary, u)
	if err != nil {
		return err
	}
	if !moved { // another one was first
		return s.ports.Banks.ReturnLease(ctx, tx, row.Name, lease)
	}
	c := u.Canary.Comparison
	if _, err := s.ports.Banks.Advance(ctx, tx, row, bank.Draft{Base: u.Base, Action: bank.ActionAdapt, Bank: head.Bank,
		Policy: policy, Optimiser: optimiser, Fresh: head.Version.Fresh, Run: u.Run,
		Reason: fmt.Sprintf("update %d, of %d live decisions: %+.4f on %d judged answers", u.Number, u.Decisions,
			c.Mean, c.Traces)}); err != nil {
		return err
	}
	return s.ports.Banks.ReturnLease(ctx, tx, row.Name, lease)
}
