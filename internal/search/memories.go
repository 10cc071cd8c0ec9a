package search

import (
	"context"
	"strings"

	"cairn/internal/memory"
	"cairn/internal/search/lexical"
)

// MemoryHit is a ranked memory.
type MemoryHit struct {
	Hit
	Entry        memory.Entry
	Conversation string // external id of the one that the evidence is from
	Named        bool   // the query is its id
}

// FoundMemory is a memory that answers a query.
type FoundMemory struct {
	Entry        memory.Entry `json:"entry"`
	Conversation string       `json:"conversation,omitempty"`
	Score        float64      `json:"score"`
	Cosine       float64      `json:"cosine"`
	Exact        bool         `json:"exact,omitempty"` // the query is its id
}

// memoryPool is how many memories of all types are ranked before those of the
// wanted types are taken.
const memoryPool = 100

// Memories finds the active memories of some types that answer text, the best
// first. The one whose id is the query comes before all; what is below the
// relevance floor is left out. Without an embedder words alone decide.
func (f Finder) Memories(ctx context.Context, ws int64, text string, types []memory.Type, limit int) ([]FoundMemory, error) {
	q := Query{Kind: KindMemory, States: []string{string(memory.Active)}, Limit: memoryPool}
	f.fill(ctx, &q, text)
	hits, err := f.Index.FindMemories(ctx, ws, q, types, strings.ToLower(strings.TrimSpace(text)))
	if err != nil {
		return nil, err
	}
	out := []FoundMemory{}
	for _, h := range hits {
		switch {
		case len(out) == limit:
			return out, nil
		case h.Named:
			out = append(out, FoundMemory{Entry: h.Entry, Conversation: h.Conversation, Score: 1, Cosine: 1, Exact: true})
		case h.Cosine >= f.MinCosine || Relevant(h.Hit):
			out = append(out, FoundMemory{Entry: h.Entry, Conversation: h.Conversation, Score: h.Score, Cosine: h.Cosine})
		}
	}
	return out, nil
}

// fill puts the words and, when an embedder is at hand, the vector of text into q.
func (f Finder) fill(ctx context.Context, q *Query, text string) {
	q.Space = f.Space
	for _, t := range lexical.Terms(text) {
		q.Terms = append(q.Terms, t.Hash)
	}
	if vs, err := f.Embedder.Embed(ctx, []string{text}); err == nil && len(vs) == 1 {
		q.Vector = vs[0]
	}
}
