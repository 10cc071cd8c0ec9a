package bank

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// Starter starts workflows.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
}

// AcceptRun stores a run with its pinned configuration, and the outbox task that starts it. If a run
// with the key of n exists, Accept returns it.
func AcceptRun(ctx context.Context, tx store.Tx, n run.NewAgentRun, spec any) (run.Run, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return run.Run{}, fmt.Errorf("encode the configuration: %w", err)
	}
	n.Spec = raw
	r, err := tx.AgentRuns().PutAgentRun(ctx, n)
	if err != nil || r.Status == run.Ended {
		return r, err
	}
	return r, tx.Runs().EnqueueRun(ctx, r.Ref.Run)
}

// StartRun starts the workflow without waiting for the relay. If it fails, the relay starts the
// workflow.
func StartRun(ctx context.Context, s Starter, workspaceKey string, r run.Run) {
	if r.Status != run.Ended {
		_ = s.Start(ctx, workspaceKey, "import", r) // the relay retries and logs errors
	}
}
