package index

import (
	"context"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/search"
)

// Reader reads the index of one workspace, in one transaction.
type Reader interface {
	// Statistics returns what is known of terms and filter keys.
	Statistics(ctx context.Context, terms []int32) (Statistics, error)
	// Candidates returns the best documents by words; see CandidateQuery.
	Candidates(ctx context.Context, q CandidateQuery) ([]search.WordHit, error)
	// Nearest returns the documents closest to a vector, closest first.
	Nearest(ctx context.Context, q NearestQuery) ([]Neighbor, error)
	// Documents returns active documents and the turns around those that are turns.
	// Neighbors that were not asked for are Rejected.
	Documents(ctx context.Context, ids []int64) ([]search.Document, error)
	// Named returns the documents that n names exactly.
	Named(ctx context.Context, n NameQuery) ([]int64, error)
	// Results returns what is shown of documents, in the order of ids.
	Results(ctx context.Context, ids []int64) ([]Result, error)
	Describer
	Selector
}

// Describer reads what surrounds documents.
type Describer interface {
	// Around returns, by turn, up to n turns before and after it in the same sitting, in their order.
	Around(ctx context.Context, turns []int64, n int) (map[int64][]int64, error)
	// Conversation returns the number of a conversation, 0 if there is none.
	Conversation(ctx context.Context, externalID string) (int64, error)
}

// Selector selects memories by conditions that are no keys of the index.
type Selector interface {
	// Matching returns the documents of the memories that a filter selects, in ascending order: among docs,
	// unless it is nil.
	Matching(ctx context.Context, in memory.Filter, docs []int64) ([]int64, error)
	// Among returns the best of docs by words, without those that have none of the words.
	Among(ctx context.Context, docs []int64, words map[int32]float32, limit int) ([]search.WordHit, error)
}

// Index searches documents.
type Index interface {
	// FindSkills ranks skills, best match first. The skill with the canonical name comes first,
	// even without a rank.
	FindSkills(ctx context.Context, ws int64, q Query, name string) ([]SkillHit, error)
	// Read calls read in one transaction on the workspace's index.
	Read(ctx context.Context, ws int64, read func(context.Context, Reader) error) error
}
