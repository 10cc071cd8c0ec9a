package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/store/dbsqlc"
)

// pgx begins a transaction in a round trip of its own. A step of a workflow is a
// handful of short transactions, so here the door to a workspace travels with it.

// enter begins a transaction and enters ws, in one round trip.
func enter(ctx context.Context, conn *pgxpool.Conn, begin string, ws int64) error {
	var both pgx.Batch
	both.Queue(begin)
	both.Queue(dbsqlc.WorkspaceEnter, ws)
	return conn.SendBatch(ctx, &both).Close()
}

// commit ends a transaction whose statements have all succeeded. The server
// answers a commit of any other with a rollback, which is no success.
func commit(ctx context.Context, conn *pgxpool.Conn) error {
	tag, err := conn.Exec(ctx, "commit")
	if err == nil && tag.String() == "ROLLBACK" {
		return pgx.ErrTxCommitRollback
	}
	return err
}

// rollback ends a transaction for cause, which it returns. A connection that
// cannot do it is not used again.
func rollback(ctx context.Context, conn *pgxpool.Conn, cause error) error {
	if !conn.Conn().IsClosed() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "rollback")
	}
	return cause
}
