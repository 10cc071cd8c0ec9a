package store

import (
	"context"

	"cairn/internal/domain/run"
	"cairn/internal/service/fastadd"
	"cairn/internal/service/longterm"
	"cairn/internal/store/dbsqlc"
)

// addStore implements the store of the service fastadd.
type addStore struct{ *Store }

// Adds returns the store of the service fastadd.
func (s *Store) Adds() fastadd.Store { return addStore{s} }

// WithAdds runs fn in a transaction that has entered ws. Its statements find rows by keys.
func (s addStore) WithAdds(ctx context.Context, ws int64, fn func(context.Context, fastadd.Tx) error) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error { return fn(ctx, fastAddTx(q)) })
}

// fastAddTx is the transaction of the service fastadd.
type fastAddTx struct{ session }

func (t fastAddTx) Adds() fastadd.Repository {
	return struct {
		addRepository
		agentRunRepository
		runRepository
		workspaceRepository
		transcriptRepository
	}{addRepository(t), t.agentRuns(), t.runs(), t.workspaces(), t.transcripts()}
}

func (t fastAddTx) LongTerm() longterm.Tx { return longTermTx(t) }

// addRepository reads and writes the queue of adds.
type addRepository struct{ session }

// Waiting locks up to most open adds of a subject, the first one first.
func (q addRepository) Waiting(ctx context.Context, subject string, most int) ([]run.OpenAdd, error) {
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
func (q addRepository) Join(ctx context.Context, first string, ids []string) error {
	return classify("join the adds", q.q.AddsJoin(ctx, dbsqlc.AddsJoinParams{WorkspaceID: q.ws, Batch: first,
		Ids: ids}))
}

// RunLocked reads and locks the state of a run.
func (q addRepository) RunLocked(ctx context.Context, id string) (run.Status, error) {
	locked, err := q.q.RunLock(ctx, dbsqlc.RunLockParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return "", q.runs().lostRun(ctx, id, err)
	}
	return run.Status(locked.Status), nil
}
