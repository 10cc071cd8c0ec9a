package store

import (
	"context"
)

// LockMemories serializes writers of memories in the workspace, before many are written.
func (q LoadRepository) LockMemories(ctx context.Context) error {
	if err := q.transaction().PromptMemory().LockMemories(ctx); err != nil {
		return err
	}
	return q.planForMany(ctx)
}
