package store

import (
	"cairn/internal/service/reflection"
)

// reflectionTx is the transaction of the service reflection.
type reflectionTx struct{ session }

func (t reflectionTx) Reads() reflection.ReadRepository { return t.reflections() }

func (t reflectionTx) Days() reflection.DayRepository { return t.reflections() }

func (t reflectionTx) Notes() reflection.NoteRepository { return t.reflections() }

func (t reflectionTx) Runs() reflection.RunRepository {
	return struct {
		runRepository
		agentRunRepository
	}{t.runs(), t.agentRuns()}
}

func (t reflectionTx) Workspace() reflection.WorkspaceRepository {
	return struct {
		workspaceRepository
		agentRunRepository
		conversationRepository
	}{t.workspaces(), t.agentRuns(), t.conversations()}
}
