package store

import (
	"context"

	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// AddRepository reads and writes the queue of adds.
type AddRepository struct{ session }

// Waiting locks up to most open adds of a subject, the first one first.
func (q AddRepository) Waiting(ctx context.Context, subject string, most int) ([]run.OpenAdd, error) {
	rows, err := q.q.AddsOpen(ctx, dbsqlc.AddsOpenParams{WorkspaceID: q.ws, Subject: &subject, MaxRows: int32(most)})
	if err != nil {
		return nil, classify("read the open adds", err)
	}
	out := make([]run.OpenAdd, len(rows))
	for i, r := range rows {
		out[i] = run.OpenAdd{Run: runOf(r.Run), Joins: text(r.Run.AddJoins), Batch: text(r.Run.AddBatch),
			Step: r.Step}
		if r.Run.AddTokens != nil {
			out[i].Tokens = int(*r.Run.AddTokens)
		}
	}
	return out, nil
}

// Join makes adds part of the call of another run.
func (q AddRepository) Join(ctx context.Context, first string, ids []string) error {
	return classify("join the adds", q.q.AddsJoin(ctx, dbsqlc.AddsJoinParams{WorkspaceID: q.ws, Batch: first,
		Ids: ids}))
}

// RunLocked reads and locks the state of a run.
func (q AddRepository) RunLocked(ctx context.Context, id string) (run.Status, error) {
	locked, err := q.q.RunLock(ctx, dbsqlc.RunLockParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return "", q.transaction().Runs().lostRun(ctx, id, err)
	}
	return run.Status(locked.Status), nil
}
