package store

import "cairn/internal/service/conversation"

// conversationTx is the transaction of the service conversation.
type conversationTx struct{ session }

func (t conversationTx) Conversations() conversation.Repository { return t.conversations() }

func (t conversationTx) Turns() conversation.TurnRepository { return t.turns() }

func (t conversationTx) Transcripts() conversation.TranscriptRepository {
	return struct {
		transcriptRepository
		documentRepository
	}{t.transcripts(), t.documents()}
}

func (t conversationTx) Runs() conversation.RunRepository { return t.runs() }
