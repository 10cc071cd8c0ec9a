package promptmemory

import (
	"context"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	"cairn/internal/service/memorywrite"
)

// Tx reads and writes the memories of one workspace in one transaction.
type Tx interface {
	Workspace() WorkspaceRepository
	Memories() MemoryRepository
	Former() FormerRepository
	Recalls() RecallRepository
	Pending() PendingRepository
	Souls() SoulRepository
	Operations() memorywrite.OperationRepository
}

// WorkspaceRepository reads and writes the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	RevokeSessions(ctx context.Context) (int, error) // makes prompt sessions read their memories again
}

// MemoryRepository reads and writes prompt memories.
type MemoryRepository interface {
	// Memories reads the active entries, or those of every status, also those that have left the prompt.
	Memories(ctx context.Context, types []memory.Type, everyStatus bool, max int) ([]memory.Entry, error)
	// InPrompt reads the entries that prompts contain.
	InPrompt(ctx context.Context, types []memory.Type, max int) ([]memory.Entry, error)
	Memory(ctx context.Context, id string) (memory.Entry, error)
	MemoryHistory(ctx context.Context, id string, max int) ([]memory.Revision, error)
	AddedBy(ctx context.Context, run string, types []memory.Type) (int, error)
	// WriteMemories writes the steps and the moves of a plan.
	WriteMemories(ctx context.Context, p memory.Plan, w memory.Writer) error
	Confirm(ctx context.Context, entries []*memory.Entry) error
}

// FormerRepository reads and erases former versions of entries.
type FormerRepository interface {
	// RevisionAt reads a version of an entry.
	RevisionAt(ctx context.Context, key int64, version int) (memory.Revision, error)
	// EraseDeleted permanently removes up to most skills and memories whose undo period has passed. It returns the
	// number of removed rows.
	EraseDeleted(ctx context.Context, most int) (int, error)
}

// RecallRepository reads long-term memories and notes, and records which were returned.
type RecallRepository interface {
	// LongTerm reads entries of any type and status by their IDs.
	LongTerm(ctx context.Context, ids []string) ([]memory.Entry, error)
	// Sayings reads the active entries with these contents.
	Sayings(ctx context.Context, in []memory.Statement) ([]memory.Entry, error)
	// Show records the memories that a search has shown to a run.
	Show(ctx context.Context, run, op string, keys []int64) error
	// Recalled records the notes that a search returned.
	Recalled(ctx context.Context, query [32]byte, keys []int64, relevances []float32) error
	NotesOf(ctx context.Context, date string, max int) ([]memory.Entry, error) // of a local date, in order
}

// PendingRepository reads and writes changes that need approval.
type PendingRepository interface {
	PutPendingMemory(ctx context.Context, p memory.Pending, w memory.Writer) (int64, error)
	PendingMemory(ctx context.Context, id int64) (memory.Pending, error)
	PendingMemories(ctx context.Context, max int) ([]memory.Pending, error)
	CountPendingMemories(ctx context.Context) (int, error)
	DecideMemory(ctx context.Context, id int64, state string) error
}

// SoulRepository reads and writes versions of the soul.
type SoulRepository interface {
	Soul(ctx context.Context) (memory.Soul, error)
	SoulAt(ctx context.Context, version int) (memory.Soul, error)
	SoulHistory(ctx context.Context, max int) ([]memory.Soul, error)
	AdvanceSoul(ctx context.Context, base int, content string, action memory.SoulAction, w memory.Writer) (int,
		error)
}
