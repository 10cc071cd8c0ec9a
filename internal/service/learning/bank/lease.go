package bank

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// LeaseTime is the duration of a lease; a run extends it with each step.
const LeaseTime = 10 * time.Minute

// TakeLease takes the lease of a bank. If another writer has it, TakeLease returns Unavailable.
func (s *Service) TakeLease(ctx context.Context, tx store.Tx, name, holder string, lives time.Duration) (memory.Lease,
	error) {
	lease, taken, err := tx.Leases().TakeLease(ctx, scopeOf(name), holder, lives)
	if err == nil && !taken {
		err = fault.New(fault.Unavailable, fmt.Sprintf("bank %q is leased by another writer", name),
			"wait until the current learning run of the bank has ended: cairn runs list")
	}
	return lease, err
}

// Holder returns the lease holder name of a run.
func Holder(ref run.Ref) string { return "run/" + ref.Op("bank", 0) }

// HoldLease takes or extends the lease of a run on its bank.
func (s *Service) HoldLease(ctx context.Context, tx store.Tx, ref run.Ref, name string) error {
	_, err := s.TakeLease(ctx, tx, name, Holder(ref), LeaseTime)
	return err
}

// ReturnLease releases a lease.
func (s *Service) ReturnLease(ctx context.Context, tx store.Tx, name string, l memory.Lease) error {
	return tx.Leases().FreeLease(ctx, scopeOf(name), l)
}

// FreeLease releases the lease of a run on its bank. A lease of another holder is not changed.
func (s *Service) FreeLease(ctx context.Context, tx store.Tx, ref run.Ref, name string) error {
	fence, err := tx.Leases().FenceOf(ctx, scopeOf(name))
	if err != nil {
		return err
	}
	return tx.Leases().FreeLease(ctx, scopeOf(name), memory.Lease{Holder: Holder(ref), Fence: fence})
}

// scopeOf returns the lease scope of a bank.
func scopeOf(name string) memory.Scope { return memory.Scope{Type: "bank", Target: name} }
