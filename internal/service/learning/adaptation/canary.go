package adaptation

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/service/learning/bank"
)

// minScores is the minimum number of scored replies on each side before a canary is judged.
const minScores = 20

// ChooseCanary returns the head for a build and the number of its update. If an update is on canary
// and the build belongs to the canary share, the head has the policy of the update. Otherwise the
// number is 0, and the head has the policy of the version. A build always gets the same result.
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
	head.Policy, head.Optimizer, err = s.ports.Banks.ReadWeights(ctx, tx, u.Policy, u.Optimizer)
	head.Version.Policy = u.Policy
	return head, u.Number, err
}

// measure compares the live scores of an update with those of the active policy. If the comparison
// shows with the confidence of the gate that the update is worse, worse is set.
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

// judgeCanary judges the update that is on canary. It promotes an update that is not worse than the
// active policy. It drops an update that is worse, that has too few scores after 30 days, or whose
// bank has a newer version. A bank with another writer is skipped.
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
		return drop(fmt.Sprintf("the bank has a newer version %d", row.Head))
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
		return drop("live scores are worse")
	}
	late, err := tx.Updates().CanaryLate(ctx, u)
	if err != nil || !late {
		return err
	}
	return drop("too few scored replies in 30 days")
}

// promote creates a version of the bank with the policy of an update.
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
	policy, optimizer, err := s.ports.Banks.ReadWeights(ctx, tx, u.Policy, u.Optimizer)
	if err != nil {
		return err
	}
	u.State = InForce
	moved, err := tx.Updates().MoveUpdate(ctx, row.ID, OnCanary, u)
	if err != nil {
		return err
	}
	if !moved { // another writer was first
		return s.ports.Banks.ReturnLease(ctx, tx, row.Name, lease)
	}
	c := u.Canary.Comparison
	if _, err := s.ports.Banks.Advance(ctx, tx, row, bank.Draft{Base: u.Base, Action: bank.ActionAdapt, Bank: head.Bank,
		Policy: policy, Optimizer: optimizer, Fresh: head.Version.Fresh, Run: u.Run,
		Reason: fmt.Sprintf("update %d from %d live decisions: %+.4f on %d scored replies", u.Number, u.Decisions,
			c.Mean, c.Traces)}); err != nil {
		return err
	}
	return s.ports.Banks.ReturnLease(ctx, tx, row.Name, lease)
}
