package search_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cairn/internal/domain/search"
)

// exhaustive is a source that scores every document.
type exhaustive struct {
	words []search.QueryWord
	docs  []map[int]float64 // weights by position of the word
	asked int               // documents that sets matched
}

func (e *exhaustive) Best(_ context.Context, sets [][]int, n int) ([]search.WordHit, error) {
	var hits []search.WordHit
	for id, doc := range e.docs {
		matches := sets == nil || slices.ContainsFunc(sets, func(set []int) bool {
			return !slices.ContainsFunc(set, func(word int) bool { _, held := doc[word]; return !held })
		})
		score := 0.0
		for word, weight := range doc {
			score += e.words[word].IDF * weight
		}
		if matches && score > 0 {
			e.asked++
			hits = append(hits, search.WordHit{Doc: int64(id), Score: score})
		}
	}
	slices.SortFunc(hits, func(a, b search.WordHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
	})
	return hits[:min(n, len(hits))], nil
}

// collection returns documents in which words have random frequencies, from one
// document to half of them.
func collection(r *rand.Rand, docs, words int) *exhaustive {
	e := &exhaustive{docs: make([]map[int]float64, docs)}
	for id := range e.docs {
		e.docs[id] = map[int]float64{}
	}
	for word := range words {
		share := math.Exp(r.Float64()*math.Log(float64(docs)/2)) / float64(docs)
		w := search.QueryWord{Term: int64(word)}
		for id := range e.docs {
			if r.Float64() < share {
				weight := 0.2 + 2*r.Float64()
				e.docs[id][word], w.MaxWeight = weight, max(w.MaxWeight, weight)
				w.DF++
			}
		}
		w.IDF = math.Log(1 + (float64(docs-w.DF)+0.5)/(float64(w.DF)+0.5))
		e.words = append(e.words, w)
	}
	return e
}

func TestAnExactResultHasTheScoresOfAnExhaustiveSearch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	exact := 0
	const collections = 2000
	for range collections {
		e := collection(r, 200+r.IntN(400), 1+r.IntN(25))
		want, _ := e.Best(t.Context(), nil, 10)
		// Docs above the limit for scoring all documents, in true proportions.
		words := slices.Clone(e.words)
		for i := range words {
			words[i].DF *= 100
		}
		got, err := search.BestByWords(t.Context(), words, e, search.WordOptions{Docs: len(e.docs) * 100, K: 10,
			Work: 1 + r.IntN(400_000)})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Exact {
			continue
		}
		exact++
		if len(got.Hits) != len(want) {
			t.Fatalf("%d hits, want %d", len(got.Hits), len(want))
		}
		for i := range want {
			if math.Abs(got.Hits[i].Score-want[i].Score) > 1e-4 {
				t.Fatalf("hit %d has score %f, want %f; rounds %+v", i, got.Hits[i].Score, want[i].Score, got.Rounds)
			}
		}
	}
	if exact < collections*3/4 {
		t.Errorf("only %d of %d results are exact", exact, collections)
	}
}
