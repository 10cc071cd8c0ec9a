package extraction

import (
	"context"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/learning/runspec"
)

// Tx reads the conversations and memories of a workspace in one transaction.
type Tx interface {
	runspec.Tx
	Transcripts() TranscriptRepository
	Memories() MemoryRepository
}

// TranscriptRepository reads and writes conversations.
type TranscriptRepository interface {
	PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	TurnOf(ctx context.Context, conversation int64, message string) (conversation.Turn, bool, error)
}

// MemoryRepository reads memories.
type MemoryRepository interface {
	// LongTerm reads entries in any status by their IDs.
	LongTerm(ctx context.Context, ids []string) ([]memory.Entry, error)
	// Neighbors returns the memories with the nearest vectors.
	Neighbors(ctx context.Context, vector []float32, space int16, most int) ([]learning.Neighbor, error)
}
