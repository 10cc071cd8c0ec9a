package relay

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Retention is how long records of how results came about are kept; 0 keeps them for ever. Open runs
// keep theirs.
type Retention struct {
	Calls      time.Duration // model calls with their requests and replies
	Runs       time.Duration // steps, tool calls and results of runs
	Operations time.Duration // log of operations, which makes a repeated operation have one effect
	Audit      time.Duration
}

// Prune removes all records that are older than their retention.
func (r *Relay) Prune(ctx context.Context) error {
	var errs []error // a failure must not block the others
	for _, p := range []struct {
		what  string
		keep  time.Duration
		prune func(context.Context, time.Duration) (int64, error)
	}{
		{"model calls", r.Keep.Calls, r.Pruner.PruneCalls},
		{"runs", r.Keep.Runs, r.Pruner.PruneRuns},
		{"operations", r.Keep.Operations, r.Pruner.PruneOperations},
		{"audit events", r.Keep.Audit, r.Pruner.PruneAudit},
	} {
		if p.keep == 0 {
			continue
		}
		for {
			n, err := p.prune(ctx, p.keep)
			if err != nil {
				errs = append(errs, fmt.Errorf("prune %s: %w", p.what, err))
			}
			if err != nil || n == 0 {
				break
			}
		}
	}
	return errors.Join(errs...)
}
