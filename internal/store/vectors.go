package store

import (
	"context"

	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/store/dbsqlc"
)

// Nearest is an exact search by vector only, as the reference for measuring Find.
func (q DocumentRepository) Nearest(ctx context.Context, space int16, v []float32, limit int) ([]int64, error) {
	rows, err := q.q.NearestBare(ctx, dbsqlc.NearestBareParams{WorkspaceID: q.ws, Space: space,
		Query: pgvector.NewHalfVector(v), MaxRows: int32(limit)})
	docs := make([]int64, len(rows))
	for i, r := range rows {
		docs[i] = r.Doc
	}
	return docs, classify("find the nearest", err)
}

// NearestInGraph is a search by the workspace's graph, which must exist.
func (q DocumentRepository) NearestInGraph(ctx context.Context, space int16, v []float32, limit int) ([]int64, error) {
	rows, err := q.q.NearestInGraph(ctx, dbsqlc.NearestInGraphParams{WorkspaceID: q.ws, Space: space,
		Query: pgvector.NewHalfVector(v), MaxRows: int32(limit)})
	docs := make([]int64, len(rows))
	for i, r := range rows {
		docs[i] = r.Doc
	}
	return docs, classify("find the nearest in the graph", err)
}
