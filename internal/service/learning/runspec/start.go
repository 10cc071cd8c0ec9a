package runspec

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/run"
	"cairn/internal/service/memoryagent"
)

// Starter brings runs to Temporal.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
}

// Accept stores a run with the configuration that it is pinned to, and the task to
// start it. A run that exists under the key of n is returned as it is.
func Accept(ctx context.Context, tx Tx, n memoryagent.NewRun, spec any) (run.Run, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return run.Run{}, fmt.Errorf("encode the configuration: %w", err)
	}
	n.Spec = raw
	r, err := tx.Runs().PutAgentRun(ctx, n)
	if err != nil || r.Status == run.Ended {
		return r, err
	}
	return r, tx.Runs().EnqueueRun(ctx, r.Ref.Run)
}

// Start saves the wait for the relay, which starts what this could not.
func Start(ctx context.Context, s Starter, workspaceKey string, r run.Run) {
	if r.Status != run.Ended {
		_ = s.Start(ctx, workspaceKey, "import", r) // the relay notes what is wrong
	}
}
