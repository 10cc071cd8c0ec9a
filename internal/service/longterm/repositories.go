package longterm

import (
	"context"
	"time"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
)

// LongTermTx is one workspace's long-term memory in one transaction.
type LongTermTx interface {
	Operations() OperationRepository
	Memories() LongTermRepository
	Views() ViewRepository
	References() ReferenceRepository
	Targets() TargetRepository
	Sessions() SessionRepository
	Identities() IdentityRepository
	Leases() LeaseRepository
}

// LongTermRepository reads and writes long-term memories and their revisions.
type LongTermRepository interface {
	// LongTerm reads entries of any type and status by their ids, with the
	// sessions that they were drawn from.
	LongTerm(ctx context.Context, ids []string) ([]memory.Entry, error)
	AddLongTerm(ctx context.Context, e *memory.Entry, w Writer) error
	// Revise writes e as the version after the one that it was read at.
	Revise(ctx context.Context, e *memory.Entry, action memory.Action, w Writer) error
	RevisionAt(ctx context.Context, key int64, version int) (memory.Revision, error)
	Park(ctx context.Context, keys []int64) error
	WrittenBy(ctx context.Context, runs []int64) ([]Touched, error)
	LongTermList(ctx context.Context, in memory.Filter) ([]memory.Entry, error)
	MemoryHistory(ctx context.Context, id string, max int) ([]memory.Revision, error)
}

// ViewRepository reads and writes what agents were shown.
type ViewRepository interface {
	Shown(ctx context.Context, run int64, op string) (map[int64]bool, error)
	Show(ctx context.Context, run int64, op string, keys []int64) error
	Saying(ctx context.Context, s memory.Scope, content string) (memory.Entry, bool, error)
	GuidelineOf(ctx context.Context, tool string) (memory.Entry, bool, error)
	// DigestOf finds the summary of a session; of none, the one that says content.
	DigestOf(ctx context.Context, history, content string) (memory.Entry, bool, error)
}

// ReferenceRepository reads and writes where memories come from, and how they are found.
type ReferenceRepository interface {
	Refer(ctx context.Context, key int64, history string, run int64) error
	CopyReferences(ctx context.Context, from, to, run int64) error
	DropReferencesOf(ctx context.Context, run int64) error
	// IndexLongTerm makes entries what search finds, once in a transaction.
	IndexLongTerm(ctx context.Context, entries []memory.Entry, w Writer) error
	// Closest is the active entry of a scope whose meaning is nearest to a vector.
	Closest(ctx context.Context, s memory.Scope, vector []float32, space int16) (memory.Entry, float64, bool, error)
	// EraseDeleted takes what can be taken back no more away for good, up to most
	// skills and memories, and returns how many there were.
	EraseDeleted(ctx context.Context, most int) (int, error)
}

// TargetRepository reads and writes targets.
type TargetRepository interface {
	FindTarget(ctx context.Context, t memory.Target) (memory.Target, bool, error)
	PutTarget(ctx context.Context, t memory.Target) (made bool, err error)
	AliasTarget(ctx context.Context, row int64, alias string) error
	TouchTarget(ctx context.Context, row int64, summarised bool) error
	DescribeTarget(ctx context.Context, row int64, description string) error
	Targets(ctx context.Context, max int) (shown []memory.Target, all int, err error)
	TargetsBy(ctx context.Context, run int64) ([]memory.Target, error)
	DropTarget(ctx context.Context, row int64) (bool, error)
}

// SessionRepository reads and writes sessions.
type SessionRepository interface {
	PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	HistoryBySum(ctx context.Context, sum [32]byte) (memory.History, bool, error)
	History(ctx context.Context, id string) (memory.History, bool, error)
	PutHistory(ctx context.Context, h *memory.History, chunks []memory.Chunk, w Writer) error
	RankChunks(ctx context.Context, history, query string, vector []float32, space int16) ([]memory.Chunk, error)
}

// IdentityRepository reads and writes versions of the identity.
type IdentityRepository interface {
	Identity(ctx context.Context) (memory.IdentityVersion, error)
	IdentityAt(ctx context.Context, version int) (memory.IdentityVersion, error)
	IdentityHistory(ctx context.Context, max int) ([]memory.IdentityVersion, error)
	AdvanceIdentity(ctx context.Context, base int, content, action, history string, w Writer) (int, error)
}

// LeaseRepository reads and writes leases of targets.
type LeaseRepository interface {
	TakeLease(ctx context.Context, s memory.Scope, holder string, lives time.Duration) (Lease, bool, error)
	FreeLease(ctx context.Context, s memory.Scope, l Lease) error
	FenceOf(ctx context.Context, s memory.Scope) (int64, error)
}

// Tx is one workspace's memories in one transaction.
type Tx interface {
	Workspace() WorkspaceRepository
	Memories() MemoryRepository
	Recalls() RecallRepository
	Pending() PendingRepository
	Souls() SoulRepository
	Operations() OperationRepository
}

// WorkspaceRepository reads and writes the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	RevokeSessions(ctx context.Context) (int, error) // what prompts were frozen to is read again
}

// MemoryRepository reads and writes memories of prompts.
type MemoryRepository interface {
	Memories(ctx context.Context, types []memory.Type, everyStatus bool, max int) ([]memory.Entry, error)
	Memory(ctx context.Context, id string) (memory.Entry, error)
	MemoryHistory(ctx context.Context, id string, max int) ([]memory.Revision, error)
	AddedBy(ctx context.Context, run int64, types []memory.Type) (int, error)
	WriteMemories(ctx context.Context, steps []memory.Step, w Writer) error
}

// RecallRepository reads and writes what is remembered elsewhere.
type RecallRepository interface {
	// LongTerm reads entries of any type and status by their ids.
	LongTerm(ctx context.Context, ids []string) ([]memory.Entry, error)
	Show(ctx context.Context, run int64, op string, keys []int64) error                     // long-term memories that a run is shown
	Recalled(ctx context.Context, query [32]byte, keys []int64, relevances []float32) error // notes that a search has brought back
	NotesOf(ctx context.Context, date string, max int) ([]memory.Entry, error)              // of a local date, in order
}

// PendingRepository reads and writes changes that wait for a person.
type PendingRepository interface {
	PutPendingMemory(ctx context.Context, p Pending, w Writer) (int64, error)
	PendingMemory(ctx context.Context, id int64) (Pending, error)
	PendingMemories(ctx context.Context, max int) ([]Pending, error)
	CountPendingMemories(ctx context.Context) (int, error)
	DecideMemory(ctx context.Context, id int64, state string) error
}

// SoulRepository reads and writes versions of the soul.
type SoulRepository interface {
	Soul(ctx context.Context) (memory.Soul, error)
	SoulAt(ctx context.Context, version int) (memory.Soul, error)
	SoulHistory(ctx context.Context, max int) ([]memory.Soul, error)
	AdvanceSoul(ctx context.Context, base int, content string, action memory.SoulAction, w Writer) (int, error)
}

// OperationRepository reads and writes the log of operations.
type OperationRepository interface {
	Do(ctx context.Context, op string, args, result any, effect func() error) error
	LockMemories(ctx context.Context) error
}
