package bank

import (
	"context"
	"fmt"
	"maps"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/paging"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store      *store.Store
	Encoder    Encoder
	Controller policy.Controller
}

// Service reads and changes banks.
type Service struct{ ports Ports }

// New returns a service.
func New(p Ports) *Service {
	return &Service{p}
}

// Head reads the active version of a bank. If the default bank does not exist, Head creates it.
func (s *Service) Head(ctx context.Context, ws int64, name string) (out Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out, err = s.ReadHead(ctx, tx, name)
		return err
	})
	return out, err
}

// List lists the banks of a workspace.
func (s *Service) List(ctx context.Context, ws int64) (out []learning.BankSummary, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if _, err := s.ReadHead(ctx, tx, Default); err != nil {
			return err
		}
		out, err = tx.Banks().Banks(ctx)
		return err
	})
	return out, err
}

// At reads a version of a bank. Number 0 means the active version.
func (s *Service) At(ctx context.Context, ws int64, name string, number int) (out Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if out, err = s.ReadHead(ctx, tx, name); err == nil && number != 0 && number != out.Head {
			out, err = s.ReadVersion(ctx, tx, out.BankRow, number)
		}
		if err == nil {
			out.Stats, err = tx.Banks().SkillStats(ctx, out.ID)
		}
		return err
	})
	return out, err
}

// History returns a page of the versions of a bank, the latest first.
func (s *Service) History(ctx context.Context, ws int64, name, cursor string, limit int) (page []learning.BankVersion,
	next string,
	err error) {
	before, max, err := paging.Number(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		h, err := s.ReadHead(ctx, tx, name)
		if err == nil {
			page, err = tx.Banks().BankVersions(ctx, h.ID, int(before), max)
		}
		return err
	})
	page, next = paging.Cut(page, limit, func(last learning.BankVersion) string { return paging.ByNumber(last.Number) })
	return page, next, err
}

// Rollback creates a version with the bank, policy and optimizer of an earlier version.
func (s *Service) Rollback(ctx context.Context, ws int64, name string, to int) (out Head, err error) {
	err = s.write(ctx, ws, name, "cairn bank", func(ctx context.Context, tx store.Tx, now Head) error {
		before, err := s.ReadVersion(ctx, tx, now.BankRow, to)
		if err != nil {
			return err
		}
		if before.Version.Snapshot == now.Version.Snapshot && maps.Equal(before.Version.Prompts, now.Version.Prompts) {
			out = now // already active, for example after a retry
			return nil
		}
		out, err = s.Advance(ctx, tx, now.BankRow, Draft{Base: now.Head, Action: ActionRollback, Bank: before.Bank,
			Policy: before.Policy, Optimizer: before.Optimizer, Prompts: &before.Version.Prompts,
			Reason: fmt.Sprintf("back to version %d", to)})
		if err != nil {
			return err
		}
		return tx.Operations().Record(ctx, audit.BankRollback, fmt.Sprintf("bank %d to version %d", now.ID, to))
	})
	return out, err
}

// write runs fn in one transaction, under the lease of the bank.
func (s *Service) write(ctx context.Context, ws int64, name, holder string,
	fn func(ctx context.Context, tx store.Tx, now Head) error) error {
	return s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		now, err := s.ReadHead(ctx, tx, name)
		if err != nil {
			return err
		}
		lease, err := s.TakeLease(ctx, tx, name, holder, time.Minute)
		if err != nil {
			return err
		}
		if err := fn(ctx, tx, now); err != nil {
			return err
		}
		return s.ReturnLease(ctx, tx, name, lease)
	})
}
