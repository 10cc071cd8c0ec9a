package longterm

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
)

// Lease lets one run at a time look after a target. Writes carry its Fence.
type Lease struct {
	Holder string    `json:"holder"`
	Fence  int64     `json:"fence"`
	Until  time.Time `json:"until"` // by the database's clock
}

// TakeLease takes the actor's target for a while, or keeps it. While another
// holder has it the answer is Unavailable: ask again.
func (l *Service) TakeLease(ctx context.Context, a agent.Actor, holder string, lives time.Duration) (out Lease,
	err error) {
	if holder == "" || lives <= 0 {
		return out, fault.New(fault.InvalidArgument, "a lease needs a holder and a time to live", "")
	}
	err = l.Store.WithLongTerm(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		s, err := (&writing{Service: l, tx: tx, a: a}).leased(ctx, a)
		if err != nil {
			return err
		}
		var taken bool
		if out, taken, err = tx.Leases().TakeLease(ctx, s, holder, lives); err == nil && !taken {
			err = fault.New(fault.Unavailable, fmt.Sprintf("%s has another writer", s.Name()), "wait until it is done")
		}
		return err
	})
	return out, err
}

// FreeLease gives the actor's target back before its time. One that has gone to
// another stays there.
func (l *Service) FreeLease(ctx context.Context, a agent.Actor, lease Lease) error {
	return l.Store.WithLongTerm(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		s, err := (&writing{Service: l, tx: tx, a: a}).leased(ctx, a)
		if err != nil {
			return err
		}
		return tx.Leases().FreeLease(ctx, s, lease)
	})
}

// WrittenEntry is an entry that a run has written.
type WrittenEntry struct {
	Entry   memory.Entry
	First   int  // version that the runs wrote first
	Last    int  // and last
	MovedOn bool // another has written since the first
}
