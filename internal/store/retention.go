package store

import (
	"context"
	"time"

	"cairn/internal/store/dbsqlc"
)

// Pruner returns what removes old records.
func (s *Store) Pruner() Pruner { return Pruner{s} }

// Pruner removes what the retention of a deployment gives up.
type Pruner struct{ *Store }

// prunedAtOnce is the maximum number of rows in one transaction.
const prunedAtOnce = 1000

// PruneCalls removes the content of model calls that are older than a time.
func (s Pruner) PruneCalls(ctx context.Context, keep time.Duration) (int64, error) {
	return s.prune(ctx, "model calls", func(q *dbsqlc.Queries) (int64, error) {
		return q.CallsPrune(ctx, dbsqlc.CallsPruneParams{Keep: keep, MaxRows: prunedAtOnce})
	})
}

// PruneRuns shortens the configuration of ended runs that are older than a time.
func (s Pruner) PruneRuns(ctx context.Context, keep time.Duration) (int64, error) {
	return s.prune(ctx, "runs", func(q *dbsqlc.Queries) (int64, error) {
		return q.RunsPrune(ctx, dbsqlc.RunsPruneParams{Keep: keep, MaxRows: prunedAtOnce})
	})
}

// PruneOperations removes entries of the log of operations that are older than a time.
func (s Pruner) PruneOperations(ctx context.Context, keep time.Duration) (int64, error) {
	return s.prune(ctx, "operations", func(q *dbsqlc.Queries) (int64, error) {
		return q.OperationsPrune(ctx, dbsqlc.OperationsPruneParams{Keep: keep, MaxRows: prunedAtOnce})
	})
}

// PruneAudit removes audit events that are older than a time.
func (s Pruner) PruneAudit(ctx context.Context, keep time.Duration) (int64, error) {
	return s.prune(ctx, "audit events", func(q *dbsqlc.Queries) (int64, error) {
		return q.AuditPrune(ctx, dbsqlc.AuditPruneParams{Keep: keep, MaxRows: prunedAtOnce})
	})
}

func (s Pruner) prune(ctx context.Context, what string, do func(q *dbsqlc.Queries) (int64, error)) (n int64,
	err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err = do(q)
		return err
	})
	return n, classify("prune "+what, err)
}
