package memory

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// TakeLease takes or extends the lease of the actor's target for the given time. If another holder
// has the lease, TakeLease returns Unavailable, and the caller retries.
func (l *LongTermService) TakeLease(ctx context.Context, a agent.Actor, holder string,
	lives time.Duration) (out memory.Lease,
	err error) {
	if holder == "" || lives <= 0 {
		return out, fault.New(fault.InvalidArgument, "lease holder and duration are required", "")
	}
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		t, err := subject(a)
		if err != nil {
			return err
		}
		var taken bool
		if out, taken, err = tx.Leases().TakeLease(ctx, t.Scope(), holder, lives); err == nil && !taken {
			err = fault.New(
				fault.Unavailable,
				fmt.Sprintf("%s is leased by another writer", t.Scope().Name()),
				"try again later",
			)
		}
		return err
	})
	return out, err
}

// FreeLease releases the lease of the actor's target early. If another holder has the lease,
// FreeLease does nothing.
func (l *LongTermService) FreeLease(ctx context.Context, a agent.Actor, lease memory.Lease) error {
	return l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		t, err := subject(a)
		if err != nil {
			return err
		}
		return tx.Leases().FreeLease(ctx, t.Scope(), lease)
	})
}
