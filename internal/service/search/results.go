package search

import (
	"context"
	"slices"

	domainindex "cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/search"
)

// results reads the best documents, those that the query names first.
func results(ctx context.Context, index domainindex.Reader, r Request, ranked []search.Scored) ([]domainindex.Result,
	error) {
	named, err := index.Named(ctx, namedBy(r.Query))
	if err == nil && r.Where != nil && len(named) > 0 {
		named, err = index.Matching(ctx, filter{Request: r}.selection(len(named)), named)
	}
	if err != nil {
		return nil, err
	}
	most := r.Limit + len(named)
	if len(r.Types) == 0 {
		most += r.Limit // summaries may become context
	}
	ids, scores := slices.Clone(named), map[int64]search.Scored{}
	for _, s := range ranked {
		scores[s.ID] = s
		if len(ids) < most && !slices.Contains(named, s.ID) {
			ids = append(ids, s.ID)
		}
	}
	shown, err := show(ctx, index, ids, scores)
	if err != nil {
		return nil, err
	}
	var kept []domainindex.Result
	docs := map[string]int64{} // of the kept results, by ID
	for i, result := range shown {
		exact := i < len(named)
		if exact && !r.shows(result) {
			continue
		}
		s := scores[ids[i]]
		result.Score, result.Cosine, result.Exact = s.Score, s.Cosine, exact
		if r.Explain {
			result.Explanation = &domainindex.ScoreExplanation{Lexical: s.Lexical, Covered: s.Covered, Parts: s.Parts}
		}
		docs[result.ID] = ids[i]
		kept = append(kept, result)
	}
	if len(r.Types) == 0 {
		kept = coverSummaries(kept)
	}
	kept = kept[:min(len(kept), r.Limit)]
	return kept, addTurns(ctx, index, kept, docs, r.Context)
}

// show reads documents with the names of their near duplicates.
func show(ctx context.Context, index domainindex.Reader, ids []int64,
	scores map[int64]search.Scored) ([]domainindex.Result, error) {
	var duplicates []int64
	for _, id := range ids {
		duplicates = append(duplicates, scores[id].Also...)
	}
	found, err := index.Results(ctx, slices.Concat(ids, duplicates))
	if err != nil {
		return nil, err
	}
	names := map[int64]string{}
	for i, id := range duplicates {
		names[id] = found[len(ids)+i].ID
	}
	for i, id := range ids {
		for _, duplicate := range scores[id].Also {
			found[i].Also = append(found[i].Also, names[duplicate])
		}
	}
	return found[:len(ids)], nil
}

// shows reports whether a document that the query names is of a requested kind and type.
func (r Request) shows(result domainindex.Result) bool {
	return (len(r.Kinds) == 0 || slices.Contains(r.Kinds, result.Kind)) &&
		(len(r.Types) == 0 || slices.Contains(r.Types, memoryType(result.Type)))
}

// coverSummaries makes a summary context of the first better result from the messages that it
// summarizes. Exact matches remain.
func coverSummaries(results []domainindex.Result) (kept []domainindex.Result) {
	for _, s := range results {
		better := -1
		if s.Type == string(memory.Summary) && !s.Exact {
			better = slices.IndexFunc(kept, s.Covers)
		}
		if better < 0 {
			kept = append(kept, s)
			continue
		}
		s.Explanation = nil
		kept[better].Context = append(kept[better].Context, s)
	}
	return kept
}

// addTurns adds n turns before and after each turn to its context.
func addTurns(ctx context.Context, index domainindex.Reader, results []domainindex.Result, docs map[string]int64,
	n int) error {
	var turns []int64
	for _, r := range results {
		if r.Kind == domainindex.KindTurn {
			turns = append(turns, docs[r.ID])
		}
	}
	if n == 0 || len(turns) == 0 {
		return nil
	}
	around, err := index.Around(ctx, turns, n)
	if err != nil {
		return err
	}
	var ids []int64
	for _, turn := range turns {
		ids = append(ids, around[turn]...)
	}
	shown, err := index.Results(ctx, ids)
	if err != nil {
		return err
	}
	for i := range results {
		if r := &results[i]; r.Kind == domainindex.KindTurn {
			own := len(around[docs[r.ID]])
			r.Context, shown = append(r.Context, shown[:own]...), shown[own:]
		}
	}
	return nil
}
