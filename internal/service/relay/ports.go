package relay

import (
	"context"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/search"
)

// Kinds of outbox tasks.

// A task is stuck if it has failed StuckFailures times in a row, or for StuckAge.

// Store accesses the outbox.
type Store interface {
	// ClaimOutbox claims up to max due tasks of the given kinds, the longest due first.
	ClaimOutbox(ctx context.Context, kinds []string, max int) ([]outbox.Task, error)
	// FailOutboxTask stores why an attempt at a task failed.
	FailOutboxTask(ctx context.Context, d outbox.Task, why string) error
	// RecoverOutboxTask clears the failures of a task that stays.
	RecoverOutboxTask(ctx context.Context, d outbox.Task) error
	// StuckOutboxTasks lists up to max tasks that fail again and again, the longest first.
	StuckOutboxTasks(ctx context.Context, max int) ([]outbox.StuckTask, error)
	// InWorkspace runs fn in a transaction in workspace ws.
	InWorkspace(ctx context.Context, ws int64, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a transaction in one workspace.
type Tx interface {
	RunRepository
	Self(ctx context.Context) (tenancy.Workspace, error)
	Settings(ctx context.Context) (settings.Settings, error)
	// Channel returns the channel of a conversation.
	Channel(ctx context.Context, conversation int64) (string, error)
	// Running returns conversations that had a message within the given time.
	Running(ctx context.Context, within time.Duration, max int) ([]int64, error)
	// DocText returns the text of a document, and the spaces in which it has a vector. It returns NotFound if the
	// document was deleted.
	DocText(ctx context.Context, doc int64) (text string, spaces []int16, err error)
	// PutVectors stores vectors of a document by space. It fails if the workspace has changed its
	// space from active to one in which the document has no vector.
	PutVectors(ctx context.Context, doc int64, vectors map[int16][]float32, active int16) error
	// Settle removes a completed task.
	Settle(ctx context.Context, kind, key string) error
}

// RunRepository accesses the runs of a workspace.
type RunRepository interface {
	Run(ctx context.Context, id string) (run.Run, error)
	// Redrive gives an open run another attempt with a new workflow. It returns false if the run has
	// ended, has another attempt, or has had most of these.
	Redrive(ctx context.Context, id string, attempt int, workflowID string, most int) (bool, error)
}

// Leftovers finds and removes abandoned data.
type Leftovers interface {
	// ExpireCalls marks calls as unknown whose lease expired longer than grace ago.
	ExpireCalls(ctx context.Context, grace time.Duration) (int64, error)
	OpenErasures(ctx context.Context, max int) ([]outbox.OpenErasure, error)
	// IdlePackages lists uploads that have had no version for longer than grace.
	IdlePackages(ctx context.Context, grace time.Duration, max int) ([]outbox.IdlePackage, error)
	// CollectPackage marks an idle package. If it was marked longer than grace ago, CollectPackage
	// returns the key of its object: the caller deletes the object and calls ForgetPackage.
	CollectPackage(ctx context.Context, p outbox.IdlePackage, grace time.Duration) (key string, err error)
	ForgetPackage(ctx context.Context, p outbox.IdlePackage) error
	// DeletedLong lists workspaces with deleted skills that can no longer be restored.
	DeletedLong(ctx context.Context, max int) ([]int64, error)
	// EraseDeleted erases up to max such skills of a workspace.
	EraseDeleted(ctx context.Context, ws int64, max int) error
	// Purge removes a batch of what has expired: offloaded content, attachments, text that was streamed, and what chat
	// platforms have sent and got. It returns the size of the batch, 0 if nothing is left.
	Purge(ctx context.Context) (int, error)
}

// Driver starts workflows in Temporal.
type Driver interface {
	// Drive starts a run's workflow unless it is running. closed means that it has run and closed.
	Drive(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error)
	Erase(ctx context.Context, e contract.EraseStart) error
	Tell(ctx context.Context, workspaceKey string, conversation int64, s contract.SettingsInput) error
}

// Channels handles what chat platforms have sent, and delivers what they get.
type Channels interface {
	Handle(ctx context.Context, ws tenancy.Workspace, route int64) error
	// Report sends the result of a run to a chat. Done is false until the run has ended.
	Report(ctx context.Context, ws tenancy.Workspace, route int64, run string) (done bool, err error)
	// Deliver makes the workflow of a route send what is open. Done means that nothing is.
	Deliver(ctx context.Context, ws tenancy.Workspace, route int64) (done bool, err error)
}

// Imports stores the conversations of session files.
type Imports interface {
	StoreConversations(ctx context.Context, ws tenancy.Workspace, id int64) error
}

// Traces imports the conversations of traces.
type Traces interface {
	// Import imports the spans of a conversation. It also removes the task, unless further spans have arrived.
	Import(ctx context.Context, ws int64, session string) error
}

// Spaces returns the embedding spaces of a workspace.
type Spaces interface {
	// Owed returns the space that the workspace uses, 0 for none, and all spaces in which its
	// documents need vectors, as far as an embedder serves them.
	Owed(ctx context.Context, ws int64) (active int16, needed []search.Space, err error)
}
