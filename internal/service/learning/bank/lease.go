package bank

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/service/longterm"
)

// LeaseTime is how long a run keeps its bank without a sign of life.
const LeaseTime = 10 * time.Minute

// TakeLease takes a bank for a writer, or says that it has another one.
func (s *Service) TakeLease(ctx context.Context, tx Tx, name, holder string, lives time.Duration) (longterm.Lease,
	error) {
	lease, taken, err := tx.Leases().TakeLease(ctx, scopeOf(name), holder, lives)
	if err == nil && !taken {
		err = fault.New(fault.Unavailable, fmt.Sprintf("bank %q has another writer", name),
			"wait until the training or the round of evolution that is under way has ended: cairn runs list")
	}
	return lease, err
}

// Holder names a run as the writer of a bank.
func Holder(ref run.Ref) string { return "run/" + ref.Op("bank", 0) }

// HoldLease takes the bank of a run, or keeps it.
func (s *Service) HoldLease(ctx context.Context, tx Tx, ref run.Ref, name string) error {
	_, err := s.TakeLease(ctx, tx, name, Holder(ref), LeaseTime)
	return err
}

// ReturnLease frees a lease that was taken.
func (s *Service) ReturnLease(ctx context.Context, tx Tx, name string, l longterm.Lease) error {
	return tx.Leases().FreeLease(ctx, scopeOf(name), l)
}

// FreeLease gives a run's bank back. A lease that has gone to another stays there.
func (s *Service) FreeLease(ctx context.Context, tx Tx, ref run.Ref, name string) error {
	fence, err := tx.Leases().FenceOf(ctx, scopeOf(name))
	if err != nil {
		return err
	}
	return tx.Leases().FreeLease(ctx, scopeOf(name), longterm.Lease{Holder: Holder(ref), Fence: fence})
}

// scopeOf is a bank among the things that have one writer at a time.
func scopeOf(name string) memory.Scope { return memory.Scope{Type: "bank", Target: name} }
