package store

import (
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
)

// longTermTx is the transaction of the service longterm.
type longTermTx struct{ session }

func (t longTermTx) Memories() longterm.Repository {
	return struct {
		longTermRepository
		loadRepository
		promptMemoryRepository
	}{t.longTerm(), t.load(), t.promptMemory()}
}

func (t longTermTx) Views() longterm.ViewRepository { return t.longTerm() }

func (t longTermTx) References() longterm.ReferenceRepository {
	return struct {
		longTermRepository
		documentRepository
		deletedSkillRepository
	}{t.longTerm(), t.documents(), t.deletedSkills()}
}

func (t longTermTx) Targets() longterm.TargetRepository { return t.targets() }

func (t longTermTx) Sessions() longterm.SessionRepository {
	return struct {
		transcriptRepository
		historyRepository
	}{t.transcripts(), t.histories()}
}

func (t longTermTx) Identities() longterm.IdentityRepository {
	return struct {
		identityRepository
		sessionRepository
	}{t.identity(), t.sessions()}
}

func (t longTermTx) Leases() longterm.LeaseRepository { return t.leases() }

func (t longTermTx) Operations() memorywrite.OperationRepository {
	return struct {
		operationRepository
		promptMemoryRepository
	}{t.operations(), t.promptMemory()}
}
