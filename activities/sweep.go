package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/library"
)

// Sweeper starts due tasks.
type Sweeper interface {
	Page(ctx context.Context, claim string, rows int) (contract.SweepCounts, error)
}

// Curator archives unused skills.
type Curator interface {
	Curate(ctx context.Context, workspace int64, dryRun bool) (library.CuratorReport, error)
}

// Sweep are the activities of scheduled work.
type Sweep struct {
	Sweeper Sweeper
	Curator Curator
}

// RegisterMain registers the steps with w.
func (a Sweep) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.SweepPage, a.Page)
	register(w, contract.CurateSkills, a.Curate)
}

// Page claims a page of due tasks and starts them.
func (a Sweep) Page(ctx context.Context, in contract.SweepPageInput) (contract.SweepCounts, error) {
	defer heartbeat(ctx)()
	out, err := a.Sweeper.Page(ctx, in.Claim, in.Rows)
	return out, temporalError(err)
}

// Curate archives unused skills.
func (a Sweep) Curate(ctx context.Context, in contract.CurateInput) (contract.CurateResult, error) {
	r, err := a.Curator.Curate(ctx, in.Workspace, false)
	return contract.CurateResult{
		Staled: r.Count(library.Stale), Archived: r.Count(library.Archive), Restored: r.Count(library.Restore),
		Similar: len(r.Similar),
	}, temporalError(err)
}
