package relay

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
)

// Kinds of outbox tasks.
const (
	DriveRun = "drive" // key: run id; stays until the run has ended
	EmbedDoc = "embed" // key: document id; stays until the vector is stored

	NotifySettings = "settings" // key: 0; stays until the running conversations have heard
)

// OutboxTask is a row of the outbox: something that was accepted and is not done yet.
type OutboxTask struct {
	Workspace int64
	ID        int64
	Kind      string
	Key       string
	Attempts  int
	Claim     time.Duration // after it, another relay may take the task up
}

// IdlePackage is an upload that no version refers to.
type IdlePackage struct {
	Workspace int64
	SHA       [sha256.Size]byte
}

// OpenErasure is one that has not ended.
type OpenErasure struct {
	ID           int64
	Workspace    int64
	WorkspaceKey string
	Conversation int64 // 0 for the whole workspace
}

// Store is the outbox.
type Store interface {
	// ClaimOutbox takes up to max tasks that are due, each for the time of its claim.
	ClaimOutbox(ctx context.Context, max int) ([]OutboxTask, error)
	// NoteOutboxTask keeps why a task could not be done yet.
	NoteOutboxTask(ctx context.Context, d OutboxTask, why string) error
	// InWorkspace runs fn in a transaction that has entered ws.
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a transaction in one workspace.
type Tx interface {
	Run(ctx context.Context, id int64) (run.Run, error)
	Self(ctx context.Context) (tenancy.Workspace, error)
	Settings(ctx context.Context) (settings.Settings, error)
	// Channel is where a conversation's messages come from.
	Channel(ctx context.Context, conversation int64) (string, error)
	// Running are conversations that had a message within some time.
	Running(ctx context.Context, within time.Duration, max int) ([]int64, error)
	DocText(ctx context.Context, doc int64) (string, error)
	PutEmbedding(ctx context.Context, doc int64, space int16, v []float32) error
	// Settle removes a task that is done.
	Settle(ctx context.Context, kind, key string) error
}

// Leftovers are what is looked over from time to time.
type Leftovers interface {
	// ExpireCalls shows calls as unknown whose lease ran out longer than grace ago.
	ExpireCalls(ctx context.Context, grace time.Duration) (int64, error)
	OpenErasures(ctx context.Context, max int) ([]OpenErasure, error)
	// IdlePackages lists uploads that have not become live for grace.
	IdlePackages(ctx context.Context, grace time.Duration, max int) ([]IdlePackage, error)
	// CollectPackage moves an idle package on: it is condemned, and a grace later its
	// object, whose key it returns, is to be deleted and the package forgotten.
	CollectPackage(ctx context.Context, p IdlePackage, grace time.Duration) (key string, err error)
	ForgetPackage(ctx context.Context, p IdlePackage) error
	// DeletedLong lists workspaces with skills that can no longer be restored.
	DeletedLong(ctx context.Context, max int) ([]int64, error)
	// EraseDeleted erases up to max such skills of a workspace.
	EraseDeleted(ctx context.Context, ws int64, max int) error
	// PurgeBlobs removes offloaded content whose time is over, some at once; 0 is done.
	PurgeBlobs(ctx context.Context) (int, error)
}

// Driver brings work to Temporal.
type Driver interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
	Erase(ctx context.Context, workspaceKey string, erasure, conversation int64) error
	Tell(ctx context.Context, workspaceKey string, conversation int64, s contract.SettingsInput) error
}

// Embedder makes vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
