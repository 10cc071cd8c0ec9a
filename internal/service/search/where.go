package search

import (
	"context"
	"slices"

	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/search"
)

// selection is the filter of the request's condition.
func (f filter) selection(limit int) memory.Filter {
	return memory.Filter{Types: f.Types, Targets: f.Targets, Where: f.Where, Limit: limit}
}

// among reads the documents that a selective condition selects, and finds the best of them by words. If there are
// too many, done is false, and the documents that a search finds are checked.
func (c *candidates) among(ctx context.Context, index index.Reader, source wordSource) (done bool, err error) {
	if c.passing.Where == nil || !c.passing.Selective {
		return false, nil
	}
	docs, err := index.Matching(ctx, c.passing.selection(exactVectors+1), nil)
	if err != nil || len(docs) > exactVectors {
		return false, err
	}
	if docs == nil {
		docs = []int64{} // nil stands for all
	}
	c.docs, c.Exact = docs, true
	hits, err := index.Among(ctx, docs, source.weights(), c.limit)
	c.Hits = hits
	c.Rounds = []search.Round{{Rows: len(docs)}}
	return true, err
}

// weights returns the weights of the words of the query.
func (s wordSource) weights() map[int32]float32 {
	out := map[int32]float32{}
	for _, w := range s.words {
		out[w.Term] = float32(w.Weight())
	}
	return out
}

// check rejects the documents that do not pass.
func (f filter) check(ctx context.Context, index index.Reader, documents []search.Document) error {
	var left []int64
	for i := range documents {
		d := &documents[i]
		if d.Rejected = !f.passes(*d); !d.Rejected {
			left = append(left, d.ID)
		}
	}
	if f.Where == nil || len(left) == 0 {
		return nil
	}
	matching, err := index.Matching(ctx, f.selection(len(left)), left)
	if err != nil {
		return err
	}
	for i := range documents {
		d := &documents[i]
		if _, found := slices.BinarySearch(matching, d.ID); !found {
			d.Rejected = true
		}
	}
	return nil
}
