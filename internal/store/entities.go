package store

import (
	"context"

	"cairn/internal/service/inspect"
	"cairn/internal/store/dbsqlc"
)

// Entities lists the targets of the workspace's personal and procedural memories, by kind and name.
func (q documentRepository) Entities(ctx context.Context, max int) ([]inspect.Entity, error) {
	rows, err := q.q.MemoryEntities(ctx, dbsqlc.MemoryEntitiesParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the targets of memories", err)
	}
	out := make([]inspect.Entity, len(rows))
	for i, r := range rows {
		out[i] = inspect.Entity(r)
	}
	return out, nil
}
