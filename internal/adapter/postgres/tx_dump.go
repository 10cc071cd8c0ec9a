package postgres

import (
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
		longTermRepository
	}{t.transcripts(), t.histories(), t.targets(), t.longTerm()}
}

func (t loadTx) Operations() dump.OperationRepository {
	return struct {
		operationRepository
		promptMemoryRepository
	}{t.operations(), t.promptMemory()}
}
