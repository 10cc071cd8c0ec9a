package offload

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/service/memoryagent"
)

// Tx is one workspace's rows in one transaction.
type Tx interface {
	Runs() RunRepository
	Items() ItemRepository
	Workspace() WorkspaceRepository
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id int64) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	StartRun(ctx context.Context, id int64) (bool, error)
	EndRun(ctx context.Context, id int64, outcome run.Outcome, reason string, result any) error
	OweRun(ctx context.Context, id int64) error
	PutAgentRun(ctx context.Context, r memoryagent.NewRun) (run.Run, error)
}

// ItemRepository reads and writes what was put away.
type ItemRepository interface {
	// PutOffloaded puts something away for a session; a ttl of 0 is for as long as the
	// session's conversation lives.
	PutOffloaded(ctx context.Context, s workingmemory.Session, b workingmemory.Blob, ttl time.Duration) error
	// Offloaded finds what was put away and has not expired; with a session, by that one.
	Offloaded(ctx context.Context, s workingmemory.Session, sha [sha256.Size]byte) (workingmemory.Blob, bool, error)
	OffloadedBy(ctx context.Context, s workingmemory.Session, most int) ([][sha256.Size]byte, error)
	PutCompaction(ctx context.Context, c Compaction) error
	CompactionAt(ctx context.Context, conversation int64, upto int) (Compaction, bool, error)
}

// WorkspaceRepository reads and writes the workspace.
type WorkspaceRepository interface {
	Key(ctx context.Context) (string, error) // of the workspace
}
