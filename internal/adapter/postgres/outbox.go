package postgres

import (
	"context"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/service/relay"
)

// Kinds of outbox rows.
const (
	DriveRun     = relay.DriveRun
	EmbedDoc     = relay.EmbedDoc
	TellSettings = relay.TellSettings
)

// Duty is a row of the outbox: something that was accepted and is not done yet.
type Duty = relay.Duty

// Owe records a duty in the transaction of what it follows from. The relay looks
// at it after wait, for whoever recorded it normally does it at once.
func (q Queries) Owe(ctx context.Context, kind, key string, wait time.Duration) error {
	return classify("record a duty", q.q.OutboxPut(ctx, dbsqlc.OutboxPutParams{WorkspaceID: q.ws, Kind: kind, Key: key, Wait: wait}))
}

// Settle removes a duty that is done; one that is not there is done already.
func (q Queries) Settle(ctx context.Context, kind, key string) error {
	_, err := q.q.OutboxDone(ctx, dbsqlc.OutboxDoneParams{WorkspaceID: q.ws, Kind: kind, Key: key})
	return classify("settle a duty", err)
}

// ClaimDuties takes up to max duties that are due. A claim moves the due time
// into the future, so a relay that dies gives its duties back by itself.
func (s *Store) ClaimDuties(ctx context.Context, max int) (out []Duty, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.OutboxClaim(ctx, int32(max))
		for _, r := range rows {
			out = append(out, Duty{Workspace: r.WorkspaceID, ID: r.ID, Kind: r.Kind, Key: r.Key, Attempts: int(r.Attempts),
				Claim: time.Duration(r.ClaimSeconds * float64(time.Second))})
		}
		return err
	})
	return out, err
}

// NoteDuty keeps why a duty could not be done yet.
func (s *Store) NoteDuty(ctx context.Context, d Duty, why string) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return q.OutboxNote(ctx, dbsqlc.OutboxNoteParams{LastError: storable(why), ID: d.ID})
	})
}
