package bank

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/ports"
)

// Ports are what the service needs.
type Ports struct {
	Store   Store
	Encoder Encoder
	Learner policy.Learner
}

// Service reads and changes banks.
type Service struct{ ports Ports }

// New returns a service. It refuses ports that are nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("bank", map[string]any{"Store": p.Store, "Encoder.Embedder": p.Encoder.Embedder,
		"Learner": p.Learner})
	if err != nil {
		return nil, err
	}
	return &Service{p}, nil
}

// Head reads a bank in force; the default one is seeded when it is not there.
func (s *Service) Head(ctx context.Context, ws int64, name string) (out Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		out, err = s.ReadHead(ctx, tx, name)
		return err
	})
	return out, err
}

// List lists the banks of a workspace.
func (s *Service) List(ctx context.Context, ws int64) (out []Summary, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		if _, err := s.ReadHead(ctx, tx, Default); err != nil {
			return err
		}
		out, err = tx.Banks().Banks(ctx)
		return err
	})
	return out, err
}

// At reads a version of a bank; number 0 is the one in force.
func (s *Service) At(ctx context.Context, ws int64, name string, number int) (out Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		if out, err = s.ReadHead(ctx, tx, name); err == nil && number != 0 && number != out.Head {
			out, err = s.ReadVersion(ctx, tx, out.Row, number)
		}
		if err == nil {
			out.Stats, err = tx.BankContents().SkillStats(ctx, out.ID)
		}
		return err
	})
	return out, err
}

// History lists the versions of a bank, the newest first.
func (s *Service) History(ctx context.Context, ws int64, name string, most int) (out []Version, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		h, err := s.ReadHead(ctx, tx, name)
		if err == nil {
			out, err = tx.Banks().BankVersions(ctx, h.ID, most)
		}
		return err
	})
	return out, err
}

// Rollback goes back to what an earlier version was: bank, policy and optimiser.
func (s *Service) Rollback(ctx context.Context, ws int64, name string, to int) (out Head, err error) {
	err = s.write(ctx, ws, name, "cairn bank", func(ctx context.Context, tx Tx, now Head) error {
		before, err := s.ReadVersion(ctx, tx, now.Row, to)
		if err != nil {
			return err
		}
		if before.Version.Snapshot == now.Version.Snapshot {
			out = now // there already, such as after a retry
			return nil
		}
		out, err = s.Advance(ctx, tx, now.Row, Draft{Base: now.Head, Action: ActionRollback, Bank: before.Bank,
			Policy: before.Policy, Optimiser: before.Optimiser, Reason: fmt.Sprintf("back to version %d", to)})
		return err
	})
	return out, err
}

// write runs fn as the bank's one writer, in one transaction.
func (s *Service) write(ctx context.Context, ws int64, name, holder string,
	fn func(ctx context.Context, tx Tx, now Head) error) error {
	return s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
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
