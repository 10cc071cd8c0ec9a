package search

import (
	"context"

	"cairn/internal/domain/search/lexplan"
)

// ByWords returns the k documents with the highest word scores that may pass the filter of r, before
// ranking, and how the plan found them. It is for measurements: Find ranks such documents.
func (f Finder) ByWords(ctx context.Context, ws int64, r Request, k int) (out lexplan.Result, err error) {
	if err := r.check(); err != nil {
		return out, err
	}
	err = f.Index.Read(ctx, ws, func(ctx context.Context, index Reader) error {
		var conversation int64
		if r.Conversation != "" {
			if conversation, err = index.Conversation(ctx, r.Conversation); err != nil || conversation == 0 {
				return err
			}
		}
		passing, terms := newFilter(r, conversation), hashes(r.Query)
		stats, err := index.Statistics(ctx, append(passing.terms(), terms...))
		if err != nil {
			return err
		}
		source := wordSource{Reader: index, words: wordsOf(terms, stats), filter: passing}
		out, err = lexplan.Search(ctx, source.plan(stats), source,
			lexplan.Options{Docs: stats.Docs, Kept: max(1, passing.kept(stats)), K: k,
				Work: f.weights(stats.Profile, r.Profile).Work})
		return err
	})
	return out, err
}
