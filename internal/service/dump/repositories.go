package dump

import (
	"context"
	"encoding/json"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
)

// Destination accesses a workspace in a transaction of a load.
type Destination interface {
	Rows() RowRepository
	Documents() DocumentRepository
	Present() PresentRepository
	Operations() OperationRepository
}

// RowRepository reads and writes loaded rows.
type RowRepository interface {
	// LoadTargets returns the number of targets that did not exist.
	LoadTargets(ctx context.Context, all []dumpfile.Target) (made int, err error)
	// LoadConversation creates or finds a conversation and returns its number of messages.
	LoadConversation(ctx context.Context, c dumpfile.Conversation) (id int64, messages int, err error)
	FindConversations(ctx context.Context, names []string) (map[string]int64, error)
	LoadMessages(ctx context.Context, conversation int64, from int, ms []transcript.Message) error
	LoadHistory(ctx context.Context, h *memory.History, id string, chunks []memory.Chunk, op string) error
	KnownMemories(ctx context.Context, ids []string) (map[string]bool, error)
	// LoadMemories sets the keys of the memories that did not exist, and their event times if they
	// have none.
	LoadMemories(ctx context.Context, all []*dumpfile.LoadedMemory, op string) error
	SetHead(ctx context.Context, kind string, version int) error
}

// DocumentRepository reads and writes the identity, the soul and the search index.
type DocumentRepository interface {
	IndexLoaded(ctx context.Context, all []dumpfile.IndexedEntry, space int16) error
	// HasDocuments reports whether the workspace has a version of the identity or the soul.
	HasDocuments(ctx context.Context, kind string) (bool, error)
	LoadDocument(ctx context.Context, d dumpfile.Document, op string) error
}

// PresentRepository reads existing rows.
type PresentRepository interface {
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	HistoryBySum(ctx context.Context, sum [32]byte) (memory.History, bool, error)
	Target(ctx context.Context, t memory.Target) (memory.Target, bool, error)
}

// OperationRepository reads and writes the operation log, and records acts.
type OperationRepository interface {
	audit.Recorder
	Do(ctx context.Context, op string, args, result any, effect func() error) error
	// Logged returns the result of an operation that was done before.
	Logged(ctx context.Context, op string, args any) (result json.RawMessage, done bool, err error)
	LockMemories(ctx context.Context) error
}
