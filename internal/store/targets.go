package store

import (
	"context"

	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// Target returns the target with an ID.
func (q TargetRepository) Target(ctx context.Context, t memory.Target) (memory.Target, bool, error) {
	rows, err := q.q.TargetGet(ctx, dbsqlc.TargetGetParams{WorkspaceID: q.ws, Type: string(t.Type),
		TargetKey: storable(t.Key)})
	if err != nil || len(rows) == 0 {
		return memory.Target{}, false, classify("find the target", err)
	}
	return targetOf(rows[0]), true, nil
}

// mostAlike is the maximum number of targets that a name is compared with.
const mostAlike = 100

// TargetsAlike lists the targets that a name in a text may mean.
func (q TargetRepository) TargetsAlike(ctx context.Context, t memory.Target, ids []string) ([]memory.Target, error) {
	rows, err := q.q.TargetsAlike(ctx, dbsqlc.TargetsAlikeParams{WorkspaceID: q.ws, Type: string(t.Type),
		Keys: texts(ids), MatchKey: storable(t.MatchKey()), MaxRows: mostAlike})
	return targetsOf(rows), classify("find the targets of a name", err)
}

// PutTarget registers a target. An existing one with its key stays unchanged.
func (q TargetRepository) PutTarget(ctx context.Context, t memory.Target) (bool, error) {
	n, err := q.q.TargetInsert(ctx, dbsqlc.TargetInsertParams{WorkspaceID: q.ws, Type: string(t.Type),
		TargetKey: storable(t.Key), MatchKey: storable(t.MatchKey()), Target: storable(t.Display),
		Description: storable(t.Description), RunID: keyOrNull(t.Run)})
	return n == 1, classify("register the target", err)
}

// TouchTargets records the use of targets and returns those that exist.
func (q TargetRepository) TouchTargets(ctx context.Context, targets []memory.Scope,
	summarised bool) ([]memory.Scope, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	p := dbsqlc.TargetsTouchParams{WorkspaceID: q.ws, Summarised: summarised}
	for _, t := range targets {
		p.Types, p.Keys = append(p.Types, string(t.Type)), append(p.Keys, storable(t.Target))
	}
	rows, err := q.q.TargetsTouch(ctx, p)
	out := make([]memory.Scope, len(rows))
	for i, r := range rows {
		out[i] = memory.Scope{Type: memory.Type(r.Type), Target: r.TargetKey}
	}
	return out, classify("record the use of the targets", err)
}

// DescribeTarget sets a target's description.
func (q TargetRepository) DescribeTarget(ctx context.Context, row int64, description string) error {
	n, err := q.q.TargetDescribe(ctx, dbsqlc.TargetDescribeParams{Description: storable(description), WorkspaceID: q.ws,
		ID: row})
	return oneRow("describe the target", n, err)
}

// Targets lists the most recently used targets, in order of creation, and counts all.
func (q TargetRepository) Targets(ctx context.Context, max int) ([]memory.Target, int, error) {
	rows, err := q.q.TargetsList(ctx, dbsqlc.TargetsListParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, 0, classify("list the targets", err)
	}
	all, err := q.q.TargetsCount(ctx, q.ws)
	return targetsOf(rows), int(all), classify("count the targets", err)
}

// TargetsBy lists the targets that a run has registered.
func (q TargetRepository) TargetsBy(ctx context.Context, run string) ([]memory.Target, error) {
	rows, err := q.q.TargetsOfRun(ctx, dbsqlc.TargetsOfRunParams{WorkspaceID: q.ws, RunID: &run})
	return targetsOf(rows), classify("list the run's targets", err)
}

// DropTarget deletes a target without active entries.
func (q TargetRepository) DropTarget(ctx context.Context, row int64) (bool, error) {
	n, err := q.q.TargetDrop(ctx, dbsqlc.TargetDropParams{WorkspaceID: q.ws, ID: row})
	return n == 1, classify("drop the target", err)
}

func targetsOf(rows []dbsqlc.MemoryTarget) []memory.Target {
	out := make([]memory.Target, len(rows))
	for i, r := range rows {
		out[i] = targetOf(r)
	}
	return out
}

func targetOf(r dbsqlc.MemoryTarget) memory.Target {
	return memory.Target{Row: r.ID, Type: memory.Type(r.Type), Key: r.TargetKey, Display: r.Target,
		Description: r.Description, Run: text(r.RunID),
		CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt, SummaryAt: r.LastSummaryAt}
}
