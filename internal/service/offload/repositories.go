package offload

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/domain/workingmemory"
)

// Tx accesses the rows of one workspace in one transaction.
type Tx interface {
	Runs() RunRepository
	Items() ItemRepository
	Workspace() WorkspaceRepository
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id string) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	StartRun(ctx context.Context, id string) (bool, error)
	EndRun(ctx context.Context, id string, outcome run.Outcome, reason string, result any) error
	EnqueueRun(ctx context.Context, id string) error
	PutAgentRun(ctx context.Context, r run.NewAgentRun) (run.Run, error)
}

// ItemRepository reads and writes offloaded content.
type ItemRepository interface {
	// PutOffloaded stores content for a session. A ttl of 0 keeps it as long as the conversation of
	// the session.
	PutOffloaded(ctx context.Context, s workingmemory.Session, b workingmemory.Blob, ttl time.Duration) error
	// Offloaded finds content that has not expired. If s is set, it searches only that session.
	Offloaded(ctx context.Context, s workingmemory.Session, sha [sha256.Size]byte) (workingmemory.Blob, bool, error)
	OffloadedBy(ctx context.Context, s workingmemory.Session, most int) ([][sha256.Size]byte, error)
	PutCompaction(ctx context.Context, c workingmemory.Compaction) error
	CompactionAt(ctx context.Context, conversation int64, upto int) (workingmemory.Compaction, bool, error)
}

// WorkspaceRepository reads the workspace.
type WorkspaceRepository interface {
	Key(ctx context.Context) (string, error) // of the workspace
}
