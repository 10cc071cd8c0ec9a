package postgres

import (
	"context"

	"cairn/internal/service/intake"
)

// importStore implements the store of the service intake.
type importStore struct{ *Store }

// Imports returns the store of the service intake.
func (s *Store) Imports() intake.Store { return importStore{s} }

// WithImports runs fn in a transaction that has entered ws.
func (s importStore) WithImports(ctx context.Context, ws int64, fn func(context.Context, intake.Tx) error) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error { return fn(ctx, importTx(q)) })
}

type importTx struct{ session }

// Transcripts stores conversations.
func (t importTx) Transcripts() intake.TranscriptRepository { return t.transcripts() }
