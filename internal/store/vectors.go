package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/fault"
	"cairn/internal/store/dbsqlc"
)

// Nearest is the exact search by vector and nothing else: what Find is measured
// against.
func (q Queries) Nearest(ctx context.Context, space int16, v []float32, limit int) ([]int64, error) {
	rows, err := q.q.NearestBare(ctx, dbsqlc.NearestBareParams{WorkspaceID: q.ws, Space: space, Query: pgvector.NewHalfVector(v), MaxRows: int32(limit)})
	docs := make([]int64, len(rows))
	for i, r := range rows {
		docs[i] = r.Doc
	}
	return docs, classify("find the nearest", err)
}

// GraphVectors builds a workspace's own HNSW graph over its vectors, which Find
// then uses instead of looking at all of them. url is a login that may act as
// the owner of the tables. Writers do not wait; other workspaces are not in it.
func GraphVectors(ctx context.Context, url string, ws int64, space int16) error {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return fault.Wrap(err, fault.Misconfigured, "DATABASE_URL cannot be read", "write it as postgres://user:password@host:port/database")
	}
	c.RuntimeParams["role"], c.RuntimeParams["search_path"] = "cairn_owner", "cairn, public"
	c.RuntimeParams["maintenance_work_mem"] = "1GB"           // the graph must fit, else the build takes four times as long
	c.RuntimeParams["max_parallel_maintenance_workers"] = "0" // CVE-2026-3172: parallel builds before pgvector 0.8.2
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return classify("connect as the owner", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	statement, err := dbsqlc.New(conn).VectorIndexStatement(ctx, dbsqlc.VectorIndexStatementParams{WorkspaceID: ws, Space: space})
	if err != nil {
		return classify("write the statement of the graph", err)
	}
	_, err = conn.Exec(ctx, statement)
	return classify("build the graph", err)
}
