package dump

import (
	"context"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
)

// Destination accesses a workspace in the transaction of a load.
type Destination interface {
	Rows() RowRepository
	Documents() DocumentRepository
	Present() PresentRepository
	Operations() OperationRepository
}

// RowRepository reads and writes loaded rows.
type RowRepository interface {
	LoadTarget(ctx context.Context, t Target) (made bool, err error)
	// LoadConversation creates or finds a conversation and returns its number of messages.
	LoadConversation(ctx context.Context, c Conversation) (id int64, messages int, err error)
	FindConversation(ctx context.Context, name string) (id int64, found bool, err error)
	LoadMessages(ctx context.Context, conversation int64, from int, ms []transcript.Message) error
	LoadHistory(ctx context.Context, h *memory.History, id string, chunks []memory.Chunk, op string) error
	// LoadMemory returns the key of a memory and sets its event time if it has none. Made is false if it
	// already existed.
	LoadMemory(ctx context.Context, m *Memory, evidence *memory.Evidence, op string) (key int64, made bool, err error)
	LoadRevision(ctx context.Context, key int64, r Revision, evidence *memory.Evidence, op string) error
	SetHead(ctx context.Context, kind string, version int) error
}

// DocumentRepository reads and writes the identity, the soul and the search index.
type DocumentRepository interface {
	IndexLoaded(ctx context.Context, all []IndexedEntry, space int16) error
	// HasDocuments reports whether the workspace has a version of the identity or the soul.
	HasDocuments(ctx context.Context, kind string) (bool, error)
	LoadDocument(ctx context.Context, d Document, op string) error
}

// PresentRepository reads and writes existing rows.
type PresentRepository interface {
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	HistoryBySum(ctx context.Context, sum [32]byte) (memory.History, bool, error)
	FindTarget(ctx context.Context, t memory.Target) (memory.Target, bool, error)
	Refer(ctx context.Context, key int64, history string, run int64) error
}

// OperationRepository reads and writes the operation log.
type OperationRepository interface {
	Do(ctx context.Context, op string, args, result any, effect func() error) error
	LockMemories(ctx context.Context) error
}
