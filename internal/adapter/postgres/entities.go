package postgres

import (
	"context"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
)

// Entity is one whom memories are for, as clients of mem0 name it.
type Entity struct {
	Kind     string // user, agent, app or run
	Name     string
	Memories int64 // active ones
	FirstAt  time.Time
	LastAt   time.Time
}

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
