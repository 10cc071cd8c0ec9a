package learning

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/longterm"
)

// bankLease is how long a run keeps its bank without a sign of life.
const bankLease = 10 * time.Minute

// take takes a bank for a writer, or says that it has another one.
func (s *Service) take(ctx context.Context, tx BankTx, name, holder string, lives time.Duration) (longterm.Lease, error) {
	lease, taken, err := tx.Leases().TakeLease(ctx, scopeOf(name), holder, lives)
	if err == nil && !taken {
		err = fault.New(fault.Unavailable, fmt.Sprintf("bank %q has another writer", name), "wait until the training or the round of evolution that is under way has ended: cairn runs list")
	}
	return lease, err
}

func holderOf(ref run.Ref) string { return "run/" + ref.Op("bank", 0) }

// TakeBank takes a run's bank, or keeps it.
func (s *Service) TakeBank(ctx context.Context, ref run.Ref, name string) (fence int64, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		lease, err := s.take(ctx, tx, name, holderOf(ref), bankLease)
		fence = lease.Fence
		return err
	})
	return fence, err
}

// free gives a run's bank back. A lease that has gone to another stays there.
func (s *Service) free(ctx context.Context, tx BankTx, ref run.Ref, name string) error {
	fence, err := tx.Leases().FenceOf(ctx, scopeOf(name))
	if err != nil {
		return err
	}
	return tx.Leases().FreeLease(ctx, scopeOf(name), longterm.Lease{Holder: holderOf(ref), Fence: fence})
}
