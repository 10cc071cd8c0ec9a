package store

import (
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/promptmemory"
)

// promptMemoryTx is the transaction of the service promptmemory.
type promptMemoryTx struct{ session }

func (t promptMemoryTx) Workspace() promptmemory.WorkspaceRepository {
	return struct {
		workspaceRepository
		sessionRepository
	}{t.workspaces(), t.sessions()}
}

func (t promptMemoryTx) Memories() promptmemory.MemoryRepository { return t.promptMemory() }

func (t promptMemoryTx) Former() promptmemory.FormerRepository {
	return struct {
		longTermRepository
		deletedSkillRepository
	}{t.longTerm(), t.deletedSkills()}
}

func (t promptMemoryTx) Recalls() promptmemory.RecallRepository {
	return struct {
		longTermRepository
		reflectionRepository
	}{t.longTerm(), t.reflections()}
}

func (t promptMemoryTx) Pending() promptmemory.PendingRepository { return t.pendingMemories() }

func (t promptMemoryTx) Souls() promptmemory.SoulRepository { return t.souls() }

func (t promptMemoryTx) Operations() memorywrite.OperationRepository {
	return struct {
		operationRepository
		promptMemoryRepository
	}{t.operations(), t.promptMemory()}
}
