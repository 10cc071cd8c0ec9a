package postgres

import (
	"context"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/service/inspect"
)

// Entity is one whom memories are for.
type Entity = inspect.Entity

// Entities lists whom the workspace's personal and procedural memories are for,
// by kind and name.
func (q documentRepository) Entities(ctx context.Context, max int) ([]Entity, error) {
	rows, err := q.q.MemoryEntities(ctx, dbsqlc.MemoryEntitiesParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list whom memories are for", err)
	}
	out := make([]Entity, len(rows))
	for i, r := range rows {
		out[i] = Entity(r)
	}
	return out, nil
}
