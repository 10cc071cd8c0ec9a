package store

import (
	"cairn/internal/service/library"
)

// libraryTx is the transaction of the service library.
type libraryTx struct{ session }

func (t libraryTx) Skills() library.SkillRepository {
	return struct {
		skillRepository
		documentRepository
	}{t.skills(), t.documents()}
}

func (t libraryTx) Versions() library.VersionRepository { return t.skills() }

func (t libraryTx) States() library.StateRepository { return t.skills() }

func (t libraryTx) Pending() library.PendingRepository { return t.pendingSkills() }

func (t libraryTx) Packages() library.PackageRepository { return t.packages() }

func (t libraryTx) Uses() library.UseRepository { return t.skillUses() }

func (t libraryTx) Deleted() library.DeletedRepository {
	return struct {
		deletedSkillRepository
		sessionRepository
	}{t.deletedSkills(), t.sessions()}
}

func (t libraryTx) Operations() library.OperationRepository { return t.operations() }
