package postgres

import (
	"cairn/internal/service/conversation"
	"cairn/internal/service/ledger"
)

// agentRunTx is a transaction as the service agentrun sees it.
type agentRunTx struct{ session }

func (t agentRunTx) Runs() conversation.RunRepository { return t.runs() }

func (t agentRunTx) Steps() conversation.StepRepository {
	return struct {
		stepRepository
		operationRepository
	}{t.steps(), t.operations()}
}

func (t agentRunTx) Conversations() conversation.Repository { return t.conversations() }

func (t agentRunTx) Turns() conversation.TurnRepository { return t.turns() }

func (t agentRunTx) Transcripts() conversation.TranscriptRepository {
	return struct {
		transcriptRepository
		documentRepository
	}{t.transcripts(), t.documents()}
}

func (t agentRunTx) Sessions() conversation.SessionRepository { return t.sessions() }

func (t agentRunTx) Workspace() conversation.WorkspaceRepository {
	return struct {
		workspaceRepository
		conversationRepository
	}{t.workspaces(), t.conversations()}
}

func (t agentRunTx) Calls() ledger.Repository { return t.calls() }
