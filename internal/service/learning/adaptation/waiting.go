package adaptation

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/service/learning/bank"
)

// Waiting lists the updates that pass the gate with the votes of too few voters, and wait for the
// owner of the workspace: at most one of each bank.
func (s *Service) Waiting(ctx context.Context, ws int64) (out []approval.Learned, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
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
			u, open, err := tx.Updates().OpenUpdate(ctx, row.ID)
			if err != nil {
				return err
			}
			if !open || u.State != OnCanary || u.Base != row.Head {
				continue
			}
			if u.Canary, _, err = s.measure(ctx, tx, row.ID, u); err != nil {
				return err
			}
			if waits(u.Canary) {
				out = append(out, u.learned(row))
			}
		}
		return nil
	})
	return out, err
}

// learned returns an update in the form in which the owner decides on it.
func (u Update) learned(row bank.Row) approval.Learned {
	return approval.Learned{Bank: row.Name, BankID: row.ID, Number: u.Number, Base: u.Base, Run: u.Run, SHA: u.Policy,
		Summary: fmt.Sprintf("update %d of the policy of bank %s, learned from %d decisions", u.Number, row.Name,
			u.Decisions),
		Reason: fmt.Sprintf("better in live builds, with the votes of %d voters", u.Canary.Voters), Lines: u.lines(),
		CreatedAt: u.CreatedAt}
}

// lines describes the comparisons of an update.
func (u Update) lines() string {
	var out []string
	add := func(what string, c *designer.Comparison) {
		if c != nil {
			out = append(out, fmt.Sprintf("%s: %+.4f, at least %+.4f", what, c.Mean, c.Lower))
		}
	}
	add("rated replies of live builds", u.Canary.Comparison)
	out = append(out, fmt.Sprintf("  %d replies with the update, %d without it", u.Canary.Candidate,
		u.Canary.Incumbent))
	add("held-out conversations", u.Shadow.Comparison)
	out = append(out, fmt.Sprintf("same choice as before the update: %.0f %% of the decisions", 100*u.Shadow.Alike))
	if o := u.Shadow.OffPolicy; o != nil {
		out = append(out, fmt.Sprintf("estimate from logged choices: %.4f, before %.4f, effective sample size %.1f",
			o.Candidate, o.Incumbent, o.Effective))
	}
	return strings.Join(out, "\n") + "\n"
}

// Approve promotes an update that waits. It returns the new version of the bank.
func (s *Service) Approve(ctx context.Context, ws int64, l approval.Learned) (version int, err error) {
	head, err := s.Promote(ctx, ws, l.Bank, l.Number)
	return head.Head, err
}

// Reject drops an update that waits.
func (s *Service) Reject(ctx context.Context, ws int64, l approval.Learned) error {
	return s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		u, found, err := tx.Updates().UpdateAt(ctx, l.BankID, l.Number)
		if err != nil {
			return err
		}
		gone := fault.New(fault.VersionConflict, fmt.Sprintf("update %d of bank %q no longer waits", l.Number, l.Bank),
			"list the updates with `cairn bank updates`")
		if !found || u.State != OnCanary {
			return gone
		}
		if u.Canary, _, err = s.measure(ctx, tx, l.BankID, u); err != nil {
			return err
		}
		u.State, u.Note = Dropped, "rejected by the owner"
		moved, err := s.drop(ctx, tx, l.BankID, OnCanary, u)
		if err != nil {
			return err
		}
		if !moved { // an outcome has decided it meanwhile
			return gone
		}
		return tx.Audit().Record(ctx, audit.BankReject, fmt.Sprintf("update %d of bank %d", l.Number, l.BankID))
	})
}
