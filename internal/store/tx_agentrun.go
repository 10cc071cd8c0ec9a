package store

import (
	"cairn/internal/service/agentrun"
	"cairn/internal/service/ledger"
)

// agentRunTx is the transaction of the service agentrun.
type agentRunTx struct{ session }

func (t agentRunTx) Runs() agentrun.RunRepository { return t.runs() }

func (t agentRunTx) Steps() agentrun.StepRepository {
	return struct {
		stepRepository
		operationRepository
	}{t.steps(), t.operations()}
}

func (t agentRunTx) Conversations() agentrun.ConversationRepository { return t.conversations() }

func (t agentRunTx) Turns() agentrun.TurnRepository { return t.turns() }

func (t agentRunTx) Transcripts() agentrun.TranscriptRepository {
	return struct {
		transcriptRepository
		documentRepository
	}{t.transcripts(), t.documents()}
}

func (t agentRunTx) Sessions() agentrun.SessionRepository { return t.sessions() }

func (t agentRunTx) Workspace() agentrun.WorkspaceRepository {
	return struct {
		workspaceRepository
		conversationRepository
	}{t.workspaces(), t.conversations()}
}

func (t agentRunTx) Calls() ledger.Repository { return t.calls() }
