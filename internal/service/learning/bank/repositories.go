package bank

import (
	"context"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/service/learning/runspec"
)

// Store opens transactions.
type Store interface {
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx reads and writes the banks of a workspace in one transaction.
type Tx interface {
	Audit() audit.Recorder
	Banks() Repository
	BankContents() ContentRepository
	Leases() LeaseRepository
	Workspace() runspec.WorkspaceRepository
	Runs() runspec.RunRepository
}

// Repository reads and writes banks and their versions.
type Repository interface {
	// PutBank creates or reads a bank, and locks it until the transaction ends.
	PutBank(ctx context.Context, name string) (learning.BankRow, error)
	BankNamed(ctx context.Context, name string) (learning.BankRow, bool, error)
	BankOf(ctx context.Context, id int64) (learning.BankRow, error)
	Banks(ctx context.Context) ([]learning.BankSummary, error)
	// AdvanceBank moves the head. It returns false if the head is not at base, or if the bank is frozen.
	AdvanceBank(ctx context.Context, id int64, base, number int) (bool, error)
	// FreezeBank freezes or unfreezes a bank. It returns false if the bank is so already.
	FreezeBank(ctx context.Context, id int64, frozen bool) (bool, error)
	BankVersion(ctx context.Context, id int64, number int) (learning.BankVersion, error)
	// BankVersions returns versions, the newest first.
	BankVersions(ctx context.Context, id int64, before, most int) ([]learning.BankVersion, error)
}

// ContentRepository reads and writes the skills and weights of versions.
type ContentRepository interface {
	PutBankVersion(ctx context.Context, id int64, v learning.BankVersion) error
	PutMemorySkills(ctx context.Context, versions []memoryskill.Version) error
	MemorySkills(ctx context.Context, ids []string) ([]memoryskill.Version, error)
	PutBlob(ctx context.Context, kind, sha string, blob []byte) error
	Blob(ctx context.Context, kind, sha string) ([]byte, error)
	// DropBlobs removes weights that no version uses.
	DropBlobs(ctx context.Context, shas []string) error
	SkillStats(ctx context.Context, bank int64) (map[string]memoryskill.Stats, error)
	PutSkillStats(ctx context.Context, bank int64, stats map[string]memoryskill.Stats) error
}

// LeaseRepository reads and writes the leases of banks.
type LeaseRepository interface {
	TakeLease(ctx context.Context, s memory.Scope, holder string, lives time.Duration) (memory.Lease, bool, error)
	FreeLease(ctx context.Context, s memory.Scope, l memory.Lease) error
	FenceOf(ctx context.Context, s memory.Scope) (int64, error)
}
