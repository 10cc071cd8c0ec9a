package postgres

import (
	"cairn/internal/service/conversation"
	"cairn/internal/service/ledger"
)

// conversationTx is a transaction as the service conversation sees it.
type conversationTx struct{ session }

func (t conversationTx) Runs() conversation.RunRepository { return t.runs() }

func (t conversationTx) Steps() conversation.StepRepository {
	return struct {
		stepRepository
		operationRepository
	}{t.steps(), t.operations()}
}

func (t conversationTx) Conversations() conversation.Repository { return t.conversations() }

func (t conversationTx) Turns() conversation.TurnRepository { return t.turns() }

func (t conversationTx) Transcripts() conversation.TranscriptRepository {
	return struct {
		transcriptRepository
		documentRepository
	}{t.transcripts(), t.documents()}
}

func (t conversationTx) Sessions() conversation.SessionRepository { return t.sessions() }

func (t conversationTx) Workspace() conversation.WorkspaceRepository {
	return struct {
		workspaceRepository
		conversationRepository
	}{t.workspaces(), t.conversations()}
}

func (t conversationTx) Calls() ledger.Repository { return t.calls() }
