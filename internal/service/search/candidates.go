package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	domainindex "cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/search"
)

// Limits of a search.
const (
	minCandidates = 60     // by words
	maxCandidates = 120    // by words, for large limits
	exactVectors  = 20_000 // filtered documents whose vectors are all compared
	maxNearest    = 1000   // vectors that are read to find enough that pass a filter
)

// candidates are the documents with the highest scores by words, and how they were found.
type candidates struct {
	search.WordResult
	passing filter
	stats   domainindex.Statistics
	words   []search.Word
	weights search.Weights
	limit   int     // of documents by words
	docs    []int64 // all that pass a condition of the request that was read first; nil if none was
}

// byWords finds the documents with the highest scores by words that may pass the filter: k of
// them, or as many as the parameters say if k is 0.
func (f Finder) byWords(ctx context.Context, index domainindex.Reader, r Request, terms []int32, k int) (c candidates,
	err error) {
	var conversation int64 // 0, which no document has, if it does not exist
	if r.Conversation != "" {
		if conversation, err = index.Conversation(ctx, r.Conversation); err != nil {
			return c, err
		}
	}
	c.passing = newFilter(r, conversation)
	if c.stats, err = index.Statistics(ctx, append(c.passing.terms(), terms...)); err != nil {
		return c, err
	}
	c.weights, c.words = f.weights(c.stats.Profile, r.Profile), wordsOf(terms, c.stats)
	c.limit = cmp.Or(k, c.weights.Candidates, min(maxCandidates, max(minCandidates, 6*r.Limit)))
	source := wordSource{Reader: index, words: c.words, filter: c.passing}
	if done, err := c.among(ctx, index, source); done || err != nil {
		return c, err
	}
	c.WordResult, err = search.BestByWords(ctx, source.plan(c.stats), source, search.WordOptions{Docs: c.stats.Docs,
		Kept: max(1, c.passing.kept(c.stats)), K: c.limit, Work: c.weights.Work,
		Until: time.Now().Add(time.Duration(c.weights.TimeoutMS) * time.Millisecond)})
	return c, err
}

// ByWords returns the k documents with the highest scores by words that may pass the filter of r,
// before ranking, and how they were found. It is for measurements: Find ranks such documents.
func (f Finder) ByWords(ctx context.Context, ws int64, r Request, k int) (out search.WordResult, err error) {
	if err := r.check(); err != nil {
		return out, err
	}
	err = f.Index.Read(ctx, ws, func(ctx context.Context, index domainindex.Reader) error {
		found, err := f.byWords(ctx, index, r, domainindex.Hashes(r.Query), k)
		out = found.WordResult
		return err
	})
	return out, err
}

// ByVector returns the k documents closest to the query that pass the filter of r, before ranking. It
// is for measurements.
func (f Finder) ByVector(ctx context.Context, ws int64, r Request, k int) (out []int64, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var q domainindex.Query
	f.fill(ctx, ws, &q, r.Query)
	err = f.Index.Read(ctx, ws, func(ctx context.Context, index domainindex.Reader) error {
		found, err := f.byWords(ctx, index, r, q.Terms, 1)
		if err != nil {
			return err
		}
		near, err := f.nearest(ctx, index, found, q, k)
		if err != nil {
			return err
		}
		documents, err := documentsOf(ctx, index, found.passing, nil, near)
		if err != nil {
			return err
		}
		documents = slices.DeleteFunc(documents, func(d search.Document) bool {
			return d.Rejected ||
				d.VectorRank == 0
		})
		slices.SortFunc(documents, func(a, b search.Document) int { return cmp.Compare(a.VectorRank, b.VectorRank) })
		for _, d := range documents[:min(k, len(documents))] {
			out = append(out, d.ID)
		}
		return nil
	})
	return out, err
}

// read finds the candidates by words and by vector, ranks them and reads the best.
func (f Finder) read(ctx context.Context, index domainindex.Reader, r Request, q domainindex.Query) (out Response,
	err error) {
	found, err := f.byWords(ctx, index, r, q.Terms, 0)
	if err != nil {
		return out, err
	}
	out.Lexical = Lexical{Exact: found.Exact, Rounds: len(found.Rounds), Rows: found.Rows()}
	if len(q.Vector) == 0 {
		out.Vector = VectorUnavailable
	}
	near, err := f.nearest(ctx, index, found, q, found.limit/2)
	if err != nil {
		return out, err
	}
	documents, err := documentsOf(ctx, index, found.passing, found.Hits, near)
	if err != nil {
		return out, err
	}
	date, _ := lexical.DateIn(r.Query)
	ranked := search.Rank(documents, search.Query{Words: found.words, Date: date, AsksWhen: lexical.AsksWhen(r.Query),
		Now: time.Now()}, found.weights)
	if r.Explain {
		out.Explanation = explain(r.Query, found)
	}
	out.Results, err = results(ctx, index, r, ranked)
	return out, err
}

// weights applies profiles to the defaults, the most specific last.
func (f Finder) weights(workspace, request search.Profile) search.Weights {
	w := search.DefaultWeights()
	w.Vector, w.MinCosine = f.VectorShare, f.MinCosine
	return request.Apply(workspace.Apply(f.Profile.Apply(w)))
}

// wordsOf returns the words of a query with their weights.
func wordsOf(terms []int32, s domainindex.Statistics) []search.Word {
	words := make([]search.Word, len(terms))
	for i, t := range terms {
		known := s.Terms[t]
		df := float64(known.DF)
		words[i] = search.Word{Term: t, DF: known.DF, Name: known.Speakers > 0,
			IDF: math.Log(1 + (float64(s.Docs)-df+0.5)/(df+0.5))}
	}
	return words
}

// nearest returns the closest documents that may pass the filter; none without a
// vector.
func (f Finder) nearest(ctx context.Context, index domainindex.Reader, c candidates, q domainindex.Query,
	limit int) ([]domainindex.Neighbor, error) {
	passing, stats, docs := c.passing, c.stats, c.docs
	if len(q.Vector) == 0 {
		return nil, nil
	}
	in := domainindex.NearestQuery{Vector: q.Vector, Space: q.Space, Limit: limit, Docs: docs}
	if docs == nil && !passing.empty() {
		hits, err := index.Candidates(ctx, domainindex.CandidateQuery{Sets: passing.keys, After: passing.After,
			Before: passing.Before, Limit: exactVectors + 1})
		if err != nil {
			return nil, err
		}
		if len(hits) <= exactVectors {
			in.Docs = make([]int64, len(hits))
			for i, h := range hits {
				in.Docs[i] = h.Doc
			}
		} else { // compared without the filter: so many more that enough of them pass
			in.Limit = min(maxNearest, 4*limit*max(1, stats.Docs/max(1, passing.kept(stats))))
		}
	}
	return index.Nearest(ctx, in)
}

// documentsOf reads the candidates.
func documentsOf(ctx context.Context, index domainindex.Reader, passing filter, hits []search.WordHit,
	near []domainindex.Neighbor) (
	[]search.Document, error) {
	ids := make([]int64, 0, len(hits)+len(near))
	for _, h := range hits {
		ids = append(ids, h.Doc)
	}
	places := map[int64]int{}
	for i, n := range near {
		ids, places[n.Doc] = append(ids, n.Doc), i+1
	}
	slices.Sort(ids)
	documents, err := index.Documents(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	if err := passing.check(ctx, index, documents); err != nil {
		return nil, err
	}
	for i := range documents {
		d := &documents[i]
		if at := places[d.ID]; at > 0 {
			d.VectorRank, d.Cosine = at, near[at-1].Cosine
		}
	}
	return documents, nil
}

// wordSource is the index as the plan of words reads it.
type wordSource struct {
	domainindex.Reader
	words  []search.Word
	filter filter
}

// plan returns the words with the bounds of their scores.
func (s wordSource) plan(stats domainindex.Statistics) []search.QueryWord {
	out := make([]search.QueryWord, len(s.words))
	for i, w := range s.words {
		out[i] = search.QueryWord{Term: int64(w.Term), DF: w.DF, IDF: w.Weight(),
			MaxWeight: stats.Terms[w.Term].MaxWeight}
	}
	return out
}

// Best implements search.WordSource of the domain: each set of words is combined with each alternative
// of the filter.
func (s wordSource) Best(ctx context.Context, sets [][]int, n int) ([]search.WordHit, error) {
	q := domainindex.CandidateQuery{Words: map[int32]float32{}, After: s.filter.After, Before: s.filter.Before,
		Limit: n}
	for _, w := range s.words {
		q.Words[w.Term] = float32(w.Weight())
	}
	if len(sets) == 0 {
		sets = [][]int{nil}
	}
	for _, set := range sets {
		for _, keys := range s.filter.keys {
			keys = slices.Clone(keys)
			for _, word := range set {
				keys = append(keys, s.words[word].Term)
			}
			if len(keys) == 0 {
				q.Sets = nil // the whole workspace
				return s.Candidates(ctx, q)
			}
			q.Sets = append(q.Sets, keys)
		}
	}
	return s.Candidates(ctx, q)
}
