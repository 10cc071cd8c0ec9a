package probe

import (
	"context"

	"cairn/internal/service/learning/cases"
	"cairn/internal/service/learning/decision"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a workspace's probes in one transaction.
type Tx interface {
	cases.Tx
	Probes() Repository
}

// Repository reads and writes probes.
type Repository interface {
	// LockProbes makes who else would spend of the day's probes wait until the
	// transaction ends.
	LockProbes(ctx context.Context) error
	// ProbesSpent are those of the last 24 hours; a run that has made none yet is one.
	ProbesSpent(ctx context.Context) (int, error)
	PutProbe(ctx context.Context, p Probe) error
	ProbesOf(ctx context.Context, run int64) ([]Probe, error)
	// EndProbe brings an open probe to its state; false when it is not open any more.
	EndProbe(ctx context.Context, p Probe) (bool, error)
	// Probes are those of a bank, of the latest run first.
	Probes(ctx context.Context, bank int64, most int) ([]Probe, error)
	// Behind are memories with the decisions that have written them.
	Behind(ctx context.Context, memories []string) ([]decision.MemoryUse, error)
}
