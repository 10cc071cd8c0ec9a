package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/domain/index"
)

// CheckRoleOf runs the start-up check with a login whose sessions run as role.
func CheckRoleOf(ctx context.Context, url, role string) error {
	p, err := pool(ctx, url, role, 1, Options{}, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	return checkRole(ctx, p, role)
}

// ReadCommitted opens a transaction in a workspace.
const ReadCommitted = readCommitted

// InRole returns the statement that opens a transaction of a role outside of workspaces.
func InRole(role string) string { return fmt.Sprintf(inRoleOnly, role, 0) }

// ByKeys opens a transaction whose statements find their rows by keys.
const ByKeys = byKeys

// AppPool returns the application's pool.
func (s *Store) AppPool() *pgxpool.Pool { return s.app }

// SystemPool returns the system role's pool.
func (s *Store) SystemPool() *pgxpool.Pool { return s.system }

// Astray returns q with statements for another workspace than the one entered.
func (q Tx) Astray(ws int64) Tx { return Tx{session{ws: ws, q: q.q, tx: q.tx}} }

// RowsRead returns how many rows of memories and their index the transaction of a reader has read so far.
func RowsRead(ctx context.Context, r index.Reader) (n int64, err error) {
	err = r.(indexReader).tx.QueryRow(ctx, `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
from pg_stat_xact_user_tables where relname in ('memories', 'search_docs', 'lex_docs', 'embeddings')`).Scan(&n)
	return n, err
}
