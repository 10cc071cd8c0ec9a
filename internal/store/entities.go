package store

import (
	"context"

	"cairn/internal/domain/readmodel"
	"cairn/internal/store/dbsqlc"
)

// Entities lists the targets of the workspace's personal and procedural memories, by kind and name.
func (q DocumentRepository) Entities(ctx context.Context, max int) ([]readmodel.Entity, error) {
	rows, err := q.q.MemoryEntities(ctx, dbsqlc.MemoryEntitiesParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the targets of memories", err)
	}
	out := make([]readmodel.Entity, len(rows))
	for i, r := range rows {
		out[i] = readmodel.Entity(r)
	}
	return out, nil
}
