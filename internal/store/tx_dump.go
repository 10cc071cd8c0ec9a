package store

import (
	"context"

	"cairn/internal/service/dump"
)

// loadTx is the transaction of the service dump.
type loadTx struct{ session }

func (t loadTx) Rows() dump.RowRepository {
	return struct {
		loadRepository
		dumpRepository
	}{t.load(), t.dump()}
}

func (t loadTx) Documents() dump.DocumentRepository { return t.load() }

func (t loadTx) Present() dump.PresentRepository {
	return struct {
		transcriptRepository
		historyRepository
		targetRepository
	}{t.transcripts(), t.histories(), t.targets()}
}

func (t loadTx) Operations() dump.OperationRepository {
	return struct {
		operationRepository
		loadRepository
	}{t.operations(), t.load()}
}

// LockMemories serializes writers of memories in the workspace, before many are written.
func (q loadRepository) LockMemories(ctx context.Context) error {
	if err := q.promptMemory().LockMemories(ctx); err != nil {
		return err
	}
	return q.planForMany(ctx)
}
