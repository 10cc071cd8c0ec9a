package probe

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/service/learning/cases"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx reads and writes the probes of a workspace in one transaction.
type Tx interface {
	cases.Tx
	Probes() Repository
}

// Repository reads and writes probes.
type Repository interface {
	// LockProbes blocks other runs that use the daily limit until the transaction ends.
	LockProbes(ctx context.Context) error
	// ProbesSpent returns the number of probes of the last 24 hours. A run without probes counts as
	// one.
	ProbesSpent(ctx context.Context) (int, error)
	PutProbe(ctx context.Context, p learning.Probe) error
	ProbesOf(ctx context.Context, run string) ([]learning.Probe, error)
	// EndProbe ends an open probe. It returns false if the probe is not open.
	EndProbe(ctx context.Context, p learning.Probe) (bool, error)
	// Probes returns the probes of a bank, latest run first.
	Probes(ctx context.Context, bank int64, most int) ([]learning.Probe, error)
	// Behind returns memories with the decisions that wrote them.
	Behind(ctx context.Context, memories []string) ([]learning.MemoryUse, error)
}
