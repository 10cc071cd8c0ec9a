package longterm

import (
	"context"
	"time"

	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/memorywrite"
)

// Tx reads and writes the long-term memory of one workspace in one transaction.
type Tx interface {
	Operations() memorywrite.OperationRepository
	Memories() Repository
	Views() ViewRepository
	References() ReferenceRepository
	Targets() TargetRepository
	Sessions() SessionRepository
	Identities() IdentityRepository
	Leases() LeaseRepository
}

// Repository reads and writes long-term memories and their revisions.
type Repository interface {
	// LongTerm reads entries of any type and status by their IDs, with the sessions from which they
	// were extracted.
	LongTerm(ctx context.Context, ids []string) ([]memory.Entry, error)
	// AddLongTerm adds entries and sets their keys and IDs. The key of an entry is 0 if there is no
	// free ID for it.
	AddLongTerm(ctx context.Context, entries []*memory.Entry, w memory.Writer) error
	// Revise writes e as the version after the one that was read.
	Revise(ctx context.Context, e *memory.Entry, action memory.Action, w memory.Writer) error
	RevisionAt(ctx context.Context, key int64, version int) (memory.Revision, error)
	Park(ctx context.Context, keys []int64) error
	WrittenBy(ctx context.Context, runs []string) ([]memory.WrittenEntry, error)
	LongTermList(ctx context.Context, in memory.Filter) ([]memory.Entry, error)
	MemoryHistory(ctx context.Context, id string, max int) ([]memory.Revision, error)
}

// ViewRepository records which memories agents have seen, and finds entries.
type ViewRepository interface {
	LookupRepository
	Shown(ctx context.Context, run, op string) (map[int64]bool, error)
	Show(ctx context.Context, run, op string, keys []int64) error
}

// LookupRepository finds entries by what they say or belong to.
type LookupRepository interface {
	Saying(ctx context.Context, s memory.Scope, content string) (memory.Entry, bool, error)
	Sayings(ctx context.Context, in []memory.Statement) ([]memory.Entry, error)
	GuidelineOf(ctx context.Context, tool string) (memory.Entry, bool, error)
	Guidelines(ctx context.Context, tools []string) ([]memory.Entry, error)
	// DigestOf finds the summary of a session. Without a session, it finds the summary with the
	// content.
	DigestOf(ctx context.Context, history, content string) (memory.Entry, bool, error)
	// CountWhere counts the entries that a filter selects.
	CountWhere(ctx context.Context, in memory.Filter) (int, error)
	// OfScope reads the active entries of a scope in the order of creation.
	OfScope(ctx context.Context, s memory.Scope, most int) ([]memory.Entry, error)
}

// ReferenceRepository links memories to sessions and indexes them for search.
type ReferenceRepository interface {
	Refer(ctx context.Context, refs []memory.Reference, run string) error
	CopyReferences(ctx context.Context, from, to int64, run string) error
	DropReferencesOf(ctx context.Context, run string) error
	// ExpectMany prepares the transaction for hundreds of new entries.
	ExpectMany(ctx context.Context) error
	// IndexLongTerm indexes entries for search. Call it at most once per transaction.
	IndexLongTerm(ctx context.Context, entries []memory.Entry, w memory.Writer) error
	// IndexSession is IndexLongTerm for entries and the parts of their sessions.
	IndexSession(ctx context.Context, parts []index.Doc, entries []memory.Entry, w memory.Writer) error
	// Closest returns the active entry of a scope whose vector is nearest.
	Closest(ctx context.Context, s memory.Scope, vector []float32, space int16) (memory.Entry, float64, bool, error)
	// EraseDeleted permanently removes up to most skills and memories whose undo period has passed.
	// It returns the number of removed rows.
	EraseDeleted(ctx context.Context, most int) (int, error)
}

// TargetRepository reads and writes targets.
type TargetRepository interface {
	// Target returns the target with an ID.
	Target(ctx context.Context, t memory.Target) (memory.Target, bool, error)
	// TargetsAlike lists the targets that a name in a text may mean: those with its folded form or one
	// of the IDs.
	TargetsAlike(ctx context.Context, t memory.Target, ids []string) ([]memory.Target, error)
	PutTarget(ctx context.Context, t memory.Target) (made bool, err error)
	// TouchTargets records the use of targets and returns those that exist.
	TouchTargets(ctx context.Context, targets []memory.Scope, summarised bool) ([]memory.Scope, error)
	DescribeTarget(ctx context.Context, row int64, description string) error
	Targets(ctx context.Context, max int) (shown []memory.Target, all int, err error)
	TargetsBy(ctx context.Context, run string) ([]memory.Target, error)
	DropTarget(ctx context.Context, row int64) (bool, error)
}

// SessionRepository reads and writes sessions.
type SessionRepository interface {
	PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	HistoryBySum(ctx context.Context, sum [32]byte) (memory.History, bool, error)
	History(ctx context.Context, id string) (memory.History, bool, error)
	PutHistory(ctx context.Context, h *memory.History, chunks []memory.Chunk, w memory.Writer) error
	// StoreHistory is PutHistory without the index. It returns the documents for IndexSession.
	StoreHistory(ctx context.Context, h *memory.History, chunks []memory.Chunk, w memory.Writer) ([]index.Doc,
		error)
	RankChunks(ctx context.Context, history, query string, vector []float32, space int16) ([]memory.Chunk, error)
}

// IdentityRepository reads and writes versions of the identity.
type IdentityRepository interface {
	Identity(ctx context.Context) (memory.IdentityVersion, error)
	IdentityAt(ctx context.Context, version int) (memory.IdentityVersion, error)
	IdentityHistory(ctx context.Context, max int) ([]memory.IdentityVersion, error)
	AdvanceIdentity(ctx context.Context, base int, content, action, history string, w memory.Writer) (int, error)
	// RevokeSessions makes prompt sessions read the memories in their prompts again.
	RevokeSessions(ctx context.Context) (int, error)
}

// LeaseRepository reads and writes leases of targets.
type LeaseRepository interface {
	TakeLease(ctx context.Context, s memory.Scope, holder string, lives time.Duration) (memory.Lease, bool, error)
	FreeLease(ctx context.Context, s memory.Scope, l memory.Lease) error
	FenceOf(ctx context.Context, s memory.Scope) (int64, error)
}
