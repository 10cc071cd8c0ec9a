package train

import (
	"context"
	"fmt"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// latest is the number of rounds of a bank among which one can wait.
const latest = 20

// Waiting lists the rounds whose candidate passes the gate and that wait for the owner of the
// workspace: of each bank at most the latest on its active version.
func (s *Evolution) Waiting(ctx context.Context, ws int64) (out []approval.Learned, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out = nil
		banks, err := tx.Banks().Banks(ctx)
		if err != nil {
			return err
		}
		for _, b := range banks {
			row, found, err := tx.Banks().BankNamed(ctx, b.Name)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			r, found, err := waitingRound(ctx, tx, row)
			if err != nil {
				return err
			}
			if found {
				out = append(out, r.Learned(row))
			}
		}
		return nil
	})
	return out, err
}

// waitingRound returns the latest round of a bank that waits.
func waitingRound(ctx context.Context, tx store.Tx, row learning.BankRow) (learning.Round, bool, error) {
	rounds, err := tx.Rounds().Rounds(ctx, row.ID, latest)
	for _, r := range rounds {
		if r.Outcome == Waiting && r.Base == row.Head && r.Candidate != nil && r.Comparison != nil {
			return r, true, err
		}
	}
	return learning.Round{}, false, err
}

// Approve makes the candidate of a round that waits the active version of its bank, whose number it
// returns.
func (s *Evolution) Approve(ctx context.Context, ws int64, l approval.Learned) (version int, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, l.Bank)
		if err != nil {
			return err
		}
		lease, err := s.ports.Banks.TakeLease(ctx, tx, l.Bank, fmt.Sprintf("round/%d", l.Number), bank.LeaseTime)
		if err != nil {
			return err
		}
		r, err := s.settle(ctx, tx, head.BankRow, l, learning.Promoted, "accepted by the owner")
		if err != nil {
			return err
		}
		made, err := s.advance(ctx, tx, head, r)
		if err != nil {
			return err
		}
		version = made.Head
		if err := s.ports.Banks.ReturnLease(ctx, tx, l.Bank, lease); err != nil {
			return err
		}
		return tx.Operations().Record(ctx, audit.BankPromote, fmt.Sprintf("round %d of bank %d", l.Number, l.BankID))
	})
	return version, err
}

// Reject ends a round that waits without a change of its bank. The designer is told of it as of
// other rejected edits.
func (s *Evolution) Reject(ctx context.Context, ws int64, l approval.Learned) error {
	return s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		row, err := tx.Banks().BankOf(ctx, l.BankID)
		if err != nil {
			return err
		}
		if _, err := s.settle(ctx, tx, row, l, learning.Rejected, "rejected by the owner"); err != nil {
			return err
		}
		return tx.Operations().Record(ctx, audit.BankReject, fmt.Sprintf("round %d of bank %d", l.Number, l.BankID))
	})
}

// settle ends a round that waits. It returns the round as it waited.
func (s *Evolution) settle(ctx context.Context, tx store.Tx, row learning.BankRow, l approval.Learned, outcome,
	note string) (learning.Round, error) {
	r, found, err := waitingRound(ctx, tx, row)
	if err != nil {
		return r, err
	}
	if found && r.Number == l.Number {
		found, err = tx.Rounds().DecideRound(ctx, row.ID, r.Number, outcome, note)
	}
	if err == nil && (!found || r.Number != l.Number) {
		err = fault.New(fault.VersionConflict, fmt.Sprintf("round %d of bank %q no longer waits", l.Number, l.Bank),
			"list the items with `cairn inbox`")
	}
	return r, err
}
