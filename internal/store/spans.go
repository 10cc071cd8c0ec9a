package store

import (
	"context"

	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// Closest returns the active entry of a scope with the nearest vector. Entries that do not have a
// vector yet are ignored.
func (q DocumentRepository) Closest(ctx context.Context, s memory.Scope, vector []float32, space int16) (memory.Entry,
	float64, bool, error) {
	r, err := q.q.ScopeNearest(ctx, dbsqlc.ScopeNearestParams{Query: pgvector.NewHalfVector(vector), Space: space,
		WorkspaceID: q.ws, Type: string(s.Type), Target: s.Target})
	if isNoRows(err) {
		return memory.Entry{}, 0, false, nil
	}
	if err != nil {
		return memory.Entry{}, 0, false, classify("find the nearest memory", err)
	}
	found, err := q.transaction().LongTerm().LongTerm(ctx, []string{r.ExternalID})
	if err != nil || len(found) == 0 {
		return memory.Entry{}, 0, false, err
	}
	return found[0], r.Cosine, true, nil
}

// Neighbors returns the memories that are closest to a span.
func (q DocumentRepository) Neighbors(ctx context.Context, vector []float32, space int16,
	most int) ([]learning.Neighbor, error) {
	rows, err := q.q.SpanNeighbours(ctx, dbsqlc.SpanNeighboursParams{Query: pgvector.NewHalfVector(vector),
		Space: space, WorkspaceID: q.ws, MaxRows: int32(most)})
	if err != nil {
		return nil, classify("find the nearest memories", err)
	}
	out := make([]learning.Neighbor, len(rows))
	for i, r := range rows {
		out[i] = learning.Neighbor{ID: r.ExternalID, Content: r.Content, Vector: r.V.Slice()}
	}
	return out, nil
}
