package postgres

import (
	"context"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/service/relay"
)

// Enqueue records a task in the transaction of what it follows from. The relay looks
// at it after wait, for whoever recorded it normally does it at once.
func (q outboxRepository) Enqueue(ctx context.Context, kind, key string, wait time.Duration) error {
	return classify("record a duty", q.q.OutboxPut(ctx,
		dbsqlc.OutboxPutParams{WorkspaceID: q.ws, Kind: kind, Key: key, Wait: wait}))
}

// Settle removes a task that is done; one that is not there is done already.
func (q outboxRepository) Settle(ctx context.Context, kind, key string) error {
	_, err := q.q.OutboxDone(ctx, dbsqlc.OutboxDoneParams{WorkspaceID: q.ws, Kind: kind, Key: key})
	return classify("settle a duty", err)
}

// ClaimOutbox takes up to max tasks that are due. A claim moves the due time
// into the future, so a relay that dies gives its tasks back by itself.
func (s *Store) ClaimOutbox(ctx context.Context, max int) (out []relay.OutboxTask, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.OutboxClaim(ctx, int32(max))
		for _, r := range rows {
			out = append(out, relay.OutboxTask{Workspace: r.WorkspaceID, ID: r.ID, Kind: r.Kind, Key: r.Key,
				Attempts: int(r.Attempts),
				Claim:    time.Duration(r.ClaimSeconds * float64(time.Second))})
		}
		return err
	})
	return out, err
}

// NoteOutboxTask keeps why a task could not be done yet.
func (s *Store) NoteOutboxTask(ctx context.Context, d relay.OutboxTask, why string) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return q.OutboxNote(ctx, dbsqlc.OutboxNoteParams{LastError: storable(why), ID: d.ID})
	})
}
