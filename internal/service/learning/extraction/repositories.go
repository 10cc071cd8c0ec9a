package extraction

import (
	"context"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/learning/runspec"
)

// Tx is what is said and remembered in a workspace, in one transaction.
type Tx interface {
	runspec.Tx
	Transcripts() TranscriptRepository
	Memories() MemoryRepository
}

// TranscriptRepository reads and writes what was said.
type TranscriptRepository interface {
	PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	TurnOf(ctx context.Context, conversation int64, message string) (agentrun.Turn, bool, error)
}

// MemoryRepository reads what is remembered.
type MemoryRepository interface {
	// LongTerm reads entries of any status by their ids.
	LongTerm(ctx context.Context, ids []string) ([]memory.Entry, error)
	// Neighbors are the memories that come closest to a vector.
	Neighbors(ctx context.Context, vector []float32, space int16, most int) ([]Neighbor, error)
}

// Neighbor is a stored memory that is near to a span.
type Neighbor struct {
	ID      string
	Content string
	Vector  []float32
}
