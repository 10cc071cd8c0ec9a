package postgres

import (
	"context"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/service/inspect"
)

// Entities lists whom the workspace's personal and procedural memories are for,
// by kind and name.
func (q documentRepository) Entities(ctx context.Context, max int) ([]inspect.Entity, error) {
	rows, err := q.q.MemoryEntities(ctx, dbsqlc.MemoryEntitiesParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list whom memories are for", err)
	}
	out := make([]inspect.Entity, len(rows))
	for i, r := range rows {
		out[i] = inspect.Entity(r)
	}
	return out, nil
}
