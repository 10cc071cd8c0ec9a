package postgres

import "cairn/internal/service/conversation"

// conversationTx is a transaction as the service conversation sees it.
type conversationTx struct{ session }

func (t conversationTx) Conversations() conversation.InboxRepository { return t.conversations() }

func (t conversationTx) Turns() conversation.InboxTurns { return t.turns() }

func (t conversationTx) Transcripts() conversation.TranscriptWriter {
	return struct {
		transcriptRepository
		documentRepository
	}{t.transcripts(), t.documents()}
}

func (t conversationTx) Runs() conversation.RunReader { return t.runs() }
