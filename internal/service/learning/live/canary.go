package live

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// minScores is the minimum number of scored replies on each side before a canary is judged.
const minScores = 20

// ChooseCanary returns the head for a build and the number of its update. If an update is on canary
// and the build belongs to the canary share, the head has the policy of the update. Otherwise, and for
// a frozen bank, the number is 0, and the head has the policy of the version. A build of a bank that is
// not frozen always gets the same result.
func (s *Adaptation) ChooseCanary(ctx context.Context, tx store.Tx, build string, head bank.Head) (bank.Head, int,
	error) {
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil || chosen.Memory.Learning.Frozen {
		return head, 0, err
	}
	row, err := tx.Banks().BankOf(ctx, head.ID) // it may have been frozen since the build began
	if err != nil || row.Frozen() {
		return head, 0, err
	}
	u, found, err := tx.Updates().OpenUpdate(ctx, head.ID)
	if err != nil || !found || u.State != learning.OnCanary || u.Base != head.Version.Number {
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
func (s *Adaptation) measure(ctx context.Context, tx store.Tx, bankID int64, u learning.Update) (out *learning.Canary,
	worse bool, err error) {
	candidate, incumbent, err := tx.Updates().CanaryScores(ctx, bankID, u)
	if err != nil {
		return nil, false, err
	}
	candidate, incumbent = bank.Capped(candidate), bank.Capped(incumbent)
	out = &learning.Canary{Candidate: len(candidate), Incumbent: len(incumbent),
		Voters: min(bank.Voters(candidate), bank.Voters(incumbent))}
	if len(candidate) < minScores || len(incumbent) < minScores {
		return out, false, nil
	}
	ours, theirs := scoresOf(candidate), scoresOf(incumbent)
	c, err := designer.CanaryGate().CompareArms(ours, theirs)
	if err != nil {
		return nil, false, err
	}
	out.Comparison = &c
	other, err := designer.CanaryGate().CompareArms(theirs, ours)
	return out, other.Lower > 0, err
}

func scoresOf(all []learning.Outcome) (out []float64) {
	for _, o := range all {
		out = append(out, o.Score)
	}
	return out
}

// passes reports whether an update is better than the active policy.
func passes(c *learning.Canary) bool { return c != nil && c.Comparison != nil && c.Comparison.Promote }

// waits reports whether an update that passes the gate needs the approval of the workspace's owner,
// because too few have voted.
func waits(c *learning.Canary) bool { return passes(c) && c.Voters < bank.MinVoters }

// waiting is the reason why an update waits.
func waiting(c *learning.Canary) string {
	return fmt.Sprintf("waits for `cairn bank promote`: %d of %d voters", c.Voters, bank.MinVoters)
}

// judgeCanary judges the update that is on canary. It promotes an update that is better than the
// active policy if enough voters say so; with fewer, the update waits for the owner. It drops an
// update that is worse, that has too few scores after 30 days, or whose bank has a newer version. A
// bank with another writer is skipped.
func (s *Adaptation) judgeCanary(ctx context.Context, tx store.Tx, row learning.BankRow) error {
	u, found, err := tx.Updates().OpenUpdate(ctx, row.ID)
	if err != nil || !found || u.State != learning.OnCanary {
		return err
	}
	drop := func(note string) error {
		u.State, u.Note = Dropped, note
		_, err := s.drop(ctx, tx, row.ID, learning.OnCanary, u)
		return err
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
	case waits(measured):
		return nil
	case passes(measured):
		_, err := s.promote(ctx, tx, row, u)
		return err
	case worse:
		return drop("live scores are worse")
	}
	late, err := tx.Updates().CanaryLate(ctx, u)
	if err != nil || !late {
		return err
	}
	return drop("not better, or too few scored replies, in 30 days")
}

// promote creates a version of the bank with the policy of an update. It returns false if the bank
// has another writer, or if another writer was first.
func (s *Adaptation) promote(ctx context.Context, tx store.Tx, row learning.BankRow, u learning.Update) (bool, error) {
	holder := fmt.Sprintf("update/%s", u.Run)
	lease, err := s.ports.Banks.TakeLease(ctx, tx, row.Name, holder, bank.LeaseTime)
	if fault.CodeOf(err) == fault.Unavailable {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	head, err := s.ports.Banks.ReadVersion(ctx, tx, row, u.Base)
	if err != nil {
		return false, err
	}
	policy, optimizer, err := s.ports.Banks.ReadWeights(ctx, tx, u.Policy, u.Optimizer)
	if err != nil {
		return false, err
	}
	u.State = InForce
	moved, err := tx.Updates().MoveUpdate(ctx, row.ID, learning.OnCanary, u)
	if err != nil {
		return false, err
	}
	if !moved { // another writer was first
		return false, s.ports.Banks.ReturnLease(ctx, tx, row.Name, lease)
	}
	c := u.Canary.Comparison
	if _, err := s.ports.Banks.Advance(ctx, tx, row, bank.Draft{Base: u.Base, Action: bank.ActionAdapt, Bank: head.Bank,
		Policy: policy, Optimizer: optimizer, Fresh: head.Version.Fresh, Run: u.Run,
		Reason: fmt.Sprintf("update %d from %d live decisions: %+.4f on %d scored replies", u.Number, u.Decisions,
			c.Mean, c.Traces)}); err != nil {
		return false, err
	}
	return true, s.ports.Banks.ReturnLease(ctx, tx, row.Name, lease)
}
