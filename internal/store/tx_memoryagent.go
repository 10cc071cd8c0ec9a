package store

import (
	"cairn/internal/service/memoryagent"
)

// memoryAgentTx is the transaction of the service memoryagent.
type memoryAgentTx struct{ session }

func (t memoryAgentTx) Runs() memoryagent.RunRepository {
	return struct {
		runRepository
		agentRunRepository
		stepRepository
	}{t.runs(), t.agentRuns(), t.steps()}
}

func (t memoryAgentTx) Agents() memoryagent.AgentRepository { return t.agentRuns() }

func (t memoryAgentTx) Workspace() memoryagent.WorkspaceRepository {
	return struct {
		workspaceRepository
		agentRunRepository
		skillRepository
		conversationRepository
	}{t.workspaces(), t.agentRuns(), t.skills(), t.conversations()}
}

func (t memoryAgentTx) Transcripts() memoryagent.TranscriptRepository { return t.transcripts() }
