package store

import (
	"context"
	"errors"

	"cairn/internal/store/dbsqlc"
)

// RecountTerms corrects the word frequencies and highest weights of up to most workspaces that were not
// counted for a week, and returns the number of corrected words. Deletions leave highest weights
// too high, which makes searches slower and never wrong.
func (s *Store) RecountTerms(ctx context.Context, most int) (words int64, err error) {
	var due []int64
	if err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		due, err = q.WorkspacesToCount(ctx, int32(most))
		return classify("list the workspaces to count", err)
	}); err != nil {
		return 0, err
	}
	var errs []error // a failure must not block the others
	for _, ws := range due {
		n, err := s.recountTerms(ctx, ws)
		words, errs = words+n, append(errs, err)
	}
	return words, errors.Join(errs...)
}

// recountTerms counts the words of one workspace. Writers lock the number of documents before the
// words, so the time of the count is stored in a transaction of its own.
func (s *Store) recountTerms(ctx context.Context, ws int64) (words int64, err error) {
	if err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) (err error) {
		words, err = q.q.TermsRecount(ctx, q.ws)
		return classify("count the words", err)
	}); err != nil {
		return 0, err
	}
	return words, s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		return classify("store the time of the count", q.q.StatsCounted(ctx, q.ws))
	})
}
