package store

import (
	"context"
	"time"

	"cairn/internal/domain/outbox"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/store/dbsqlc"
)

// Health returns the store of the reasons why something does not work.
func (s *Store) Health() Health { return Health{s} }

// Health reads what health reports.
type Health struct{ *Store }

// Settings reads the settings of a workspace.
func (s Health) Settings(ctx context.Context, ws int64) (settings.Settings, error) {
	return s.Workspaces().Settings(ctx, ws)
}

// HealthFacts returns what is wrong in a workspace.
func (s Health) HealthFacts(ctx context.Context, ws int64, patience time.Duration) ([]readmodel.HealthFact,
	error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.HealthFact, error) {
		rows, err := q.q.HealthFacts(ctx, dbsqlc.HealthFactsParams{WorkspaceID: ws, EmbedPatience: patience,
			StuckFailures: outbox.StuckFailures, StuckAge: outbox.StuckAge})
		out := make([]readmodel.HealthFact, len(rows))
		for i, r := range rows {
			out[i] = readmodel.HealthFact{Code: readmodel.HealthCode(r.Code), Name: r.Name, Detail: r.Detail,
				Count: r.Rows,
				Since: r.Since}
		}
		return out, classify("find what is wrong", err)
	})
}

// WorkerBeats returns when a worker of each queue was alive last.
func (s Health) WorkerBeats(ctx context.Context, live time.Duration) (out []readmodel.WorkerBeat, err error) {
	err = s.asApp(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.WorkerBeats(ctx, live)
		for _, r := range rows {
			out = append(out, readmodel.WorkerBeat{Queue: r.Queue, SeenAt: r.SeenAt, Live: r.Live})
		}
		return classify("list the workers", err)
	})
	return out, err
}

// WorkerBeat records that a worker of the queues is alive.
func (s *Store) WorkerBeat(ctx context.Context, queues []string) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("record a worker", q.WorkerBeat(ctx, queues))
	})
}
